"""A run that waits is cancelled: what becomes of the events that it was to tell of."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leitstand.errors import FailureClass
from leitstand.events import EventQueue, NewEvent
from leitstand.jobs import Run, RunStatus, WindowLedger, parse_window
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from tests.jobs.scene import Scene, control_server, eventually, hand_over_events

BROKEN = Outcome(RunStatus.FAILED, "BROKEN", "it broke", FailureClass.TRANSIENT)
HOUR = timedelta(hours=1)


async def emit(scene: Scene, events: EventQueue, *numbers: int) -> None:
    """Events of these numbers, handed to the job that listens."""
    for number in numbers:
        await events.emit(NewEvent("e", "test", {"n": number}))
    await hand_over_events(scene)


async def backing_off(scene: Scene, events: EventQueue, *numbers: int, **fields: Any) -> Run:
    """The further attempt of a run that has failed with these events."""
    await scene.job(event="e", retry={"max_attempts": 3, "backoff": 3600}, **fields)
    await emit(scene, events, *numbers)
    (started,) = await scene.queue.start("a", 1)
    await scene.queue.finish([FinishedRun(started.lease, BROKEN, retry_delay=3600.0)])
    return await waiting(scene)


async def waiting(scene: Scene) -> Run:
    (run,) = await scene.queue.list_runs(status=RunStatus.QUEUED)
    return run


def told(run: Run) -> tuple[int, list[int]]:
    """How many events the run counts, and those that it lists."""
    assert run.event is not None
    return run.event["count"], [each["payload"]["n"] for each in run.event["events"]]


async def test_what_came_during_a_back_off_has_a_run_of_its_own(
    scene: Scene, events: EventQueue
) -> None:
    """Case 64: the last event is followed by a run, whoever cancels which attempt."""
    further = await backing_off(scene, events, 1, 2)
    await emit(scene, events, 3, 4)
    cancelled = await scene.queue.cancel(further.id)
    heir = await waiting(scene)
    assert (heir.trigger_by, heir.attempt, told(heir)) == ("event", 1, (2, [3, 4]))
    assert cancelled.error_message == (
        f"cancelled before it started; run {heir.id} has the 2 events that came meanwhile"
    )
    async with control_server(scene):
        assert (await scene.ended(heir)).status is RunStatus.SUCCEEDED
    assert len(await scene.queue.list_runs()) == 3


async def test_a_back_off_in_which_nothing_came_ends_the_matter(
    scene: Scene, events: EventQueue
) -> None:
    further = await backing_off(scene, events, 1, 2)
    cancelled = await scene.queue.cancel(further.id)
    assert cancelled.error_message == (
        "cancelled before it started, with the 2 events that it was for"
    )
    assert await scene.queue.list_runs(status=RunStatus.QUEUED) == []


async def test_who_cancels_a_request_of_his_own_cancels_no_event(
    scene: Scene, events: EventQueue
) -> None:
    await scene.job(event="e")
    asked_for = await scene.queue.request("job", user="anna")
    await emit(scene, events, 1)
    await scene.queue.cancel(asked_for.id)
    assert told(await waiting(scene)) == (1, [1])


async def test_who_cancels_the_run_of_events_cancels_them(scene: Scene, events: EventQueue) -> None:
    """Another run of the same would start at once, and could not be cancelled for good."""
    await scene.job(event="e")
    await emit(scene, events, 1)
    cancelled = await scene.queue.cancel((await waiting(scene)).id)
    assert cancelled.error_message == (
        "cancelled before it started, with the 1 event that it was for"
    )
    assert await scene.queue.list_runs(status=RunStatus.QUEUED) == []


@pytest.mark.parametrize("change", [{"enabled": False}, {"event": "f"}], ids=["disabled", "other"])
async def test_a_job_that_listens_no_more_gets_no_other_run(
    scene: Scene, events: EventQueue, change: dict[str, Any]
) -> None:
    further = await backing_off(scene, events, 1)
    await emit(scene, events, 2)
    await scene.job(**{"event": "e", **change})
    cancelled = await scene.queue.cancel(further.id)
    assert cancelled.error_message == (
        "cancelled before it started, with the 1 event that came meanwhile:"
        " the job does not listen any more"
    )
    assert await scene.queue.list_runs(status=RunStatus.QUEUED) == []


async def test_a_run_that_waits_beside_it_gets_them(scene: Scene, events: EventQueue) -> None:
    further = await backing_off(scene, events, 1, overlap="allow")
    await emit(scene, events, 2)
    beside = await scene.queue.request("job")
    await scene.queue.cancel(further.id)
    assert (await waiting(scene)).id == beside.id
    assert told(await scene.queue.get(beside.id)) == (1, [2])


async def test_the_other_run_waits_for_the_end_of_a_window(
    scene: Scene, events: EventQueue
) -> None:
    further = await backing_off(scene, events, 1)
    await emit(scene, events, 2)
    until = datetime.now(UTC) + HOUR
    spec = {"name": "freeze", "from": until - 2 * HOUR, "to": until}
    await WindowLedger(scene.database).save(parse_window(spec))
    await scene.queue.cancel(further.id)
    async with control_server(scene):

        async def moved() -> bool | None:
            return (await waiting(scene)).not_before == until or None

        await eventually(moved)
