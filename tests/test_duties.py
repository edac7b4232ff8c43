"""What goes on beside other work."""

import asyncio

from structlog.testing import capture_logs

from leitstand.duties import beside


async def test_a_duty_that_fails_is_not_silent_and_ends_no_other() -> None:
    failed, cancelled = asyncio.Event(), asyncio.Event()

    async def fails() -> None:
        failed.set()
        raise KeyError("not foreseen")

    async def goes_on() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with capture_logs() as logged:
        async with beside([fails(), goes_on()]):
            await failed.wait()
            assert not cancelled.is_set()
    assert cancelled.is_set()
    (entry,) = logged
    assert entry["log_level"] == "error"
    assert "fails" in entry["duty"]
