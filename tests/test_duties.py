"""What a server does beside its loop goes on, whatever fails."""

import asyncio

import pytest
from structlog.testing import capture_logs

from leitstand import duties
from leitstand.duties import going_on


async def test_a_duty_that_fails_begins_again_and_stops_no_other() -> None:
    """As a dispatcher that meets a row which nobody foresaw: messages would lie until a restart."""
    begun: asyncio.Queue[str] = asyncio.Queue()
    faults = iter((ValueError("a fault"), KeyError("another")))

    async def faulty() -> None:
        begun.put_nowait("faulty")
        if fault := next(faults, None):
            raise fault
        await asyncio.Event().wait()

    async def sound() -> None:
        begun.put_nowait("sound")
        await asyncio.Event().wait()

    async def done() -> None:
        begun.put_nowait("done")

    with capture_logs() as lines:
        async with asyncio.timeout(10), going_on([faulty, sound, done], pause=0.01):
            names = [await begun.get() for _ in range(5)]
    assert sorted(names) == ["done", "faulty", "faulty", "faulty", "sound"]
    assert [line["log_level"] for line in lines] == ["error", "error"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_duty_that_takes_its_end_for_a_failure_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server waited for such a one until it was past its grace, and ended with status 1."""
    monkeypatch.setattr(duties, "CANCEL_AGAIN", 0.01)
    overheard: list[str] = []

    async def stubborn() -> None:
        while not overheard:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                overheard.append("a connection that was lost")
        await asyncio.Event().wait()

    async with asyncio.timeout(10), going_on([stubborn]):
        await asyncio.sleep(0)
    assert len(overheard) == 1
