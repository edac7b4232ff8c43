"""Runs that are queued already, and windows that their jobs may not, or only, run in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leitstand.errors import FailureClass
from leitstand.events import EventQueue, NewEvent
from leitstand.jobs import Run, RunStatus, WindowLedger, parse_window
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from tests.jobs.scene import Scene, control_server, hand_over_events
from tests.jobs.windows import HOUR

MINUTE = timedelta(minutes=1)
BROKEN = Outcome(RunStatus.FAILED, "BROKEN", "it broke", FailureClass.TRANSIENT)


async def open_window(scene: Scene, begin: timedelta, end: timedelta) -> datetime:
    """A window from and to these distances from now; returns its beginning."""
    now = datetime.now(UTC)
    spec = {"name": "w", "from": now + begin, "to": now + end, "jobs": ["job"]}
    await WindowLedger(scene.database).save(parse_window(spec))
    return now + begin


async def only_run(scene: Scene) -> Run:
    (run,) = await scene.queue.list_runs(status=RunStatus.QUEUED)
    return run


async def queued_by(scene: Scene, trigger: str) -> Run:
    """A run of a job that runs in windows only, queued in one that is over meanwhile."""
    await scene.job(window_policy="only", retry={"max_attempts": 2, "backoff": 0})
    run = await scene.queue.request("job", by="startup")
    if trigger == "retry":
        (started,) = await scene.queue.start("a", 1)
        await scene.queue.finish([FinishedRun(started.lease, BROKEN, retry_delay=0.0)])
        run = await only_run(scene)
        assert run.not_before > datetime.now(UTC) + timedelta(seconds=20)
    else:
        await scene.rows("UPDATE runs SET trigger_by = %s RETURNING id", trigger)
    return run


@pytest.mark.parametrize("trigger", ["schedule", "event", "retry"])
async def test_a_job_for_windows_only_never_starts_outside(scene: Scene, trigger: str) -> None:
    """It waited for a slot until the window was over, or its further attempt came after it."""
    run = await queued_by(scene, trigger)
    await open_window(scene, HOUR, 2 * HOUR)
    for _ in range(3):
        await hand_over_events(scene)
    held = await scene.queue.get(run.id)
    assert held.status is RunStatus.QUEUED
    assert held.not_before > datetime.now(UTC) + MINUTE / 2
    assert await scene.queue.start("a", 4) == []
    opens = await open_window(scene, 40 * MINUTE / 60, HOUR)
    await scene.rows("UPDATE runs SET not_before = now() WHERE status = 'queued' RETURNING id")
    await hand_over_events(scene)
    assert (await scene.queue.get(run.id)).not_before == opens


async def test_who_asks_for_such_a_job_is_not_held_up(scene: Scene) -> None:
    scene.gate.opened.set()
    retry = {"max_attempts": 2, "backoff": 0}
    await scene.job(kind="gate", params={"fail": True}, window_policy="only", retry=retry)
    async with control_server(scene):
        first = await scene.ended(await scene.queue.request("job", user="anna"))
        await scene.ended(first.id + 1)


@pytest.mark.parametrize("policy", ["postpone", "only"])
async def test_an_event_that_waited_through_an_outage_is_looked_at_again(
    scene: Scene, policy: str
) -> None:
    """Its time came while no server was there; now it would be in the wrong place again."""
    events = EventQueue(scene.database)
    begin, end = (-HOUR, HOUR) if policy == "postpone" else (HOUR, 2 * HOUR)
    await open_window(scene, begin, end)
    await scene.job(event="e", window_policy=policy)
    await events.emit(NewEvent("e", "test", {}))
    await hand_over_events(scene)
    wanted = (await only_run(scene)).not_before
    await scene.rows(
        "UPDATE runs SET scheduled_at = now() - interval '3 h', not_before = now() - interval '1 h'"
        " RETURNING id"
    )
    await hand_over_events(scene)
    assert (await only_run(scene)).not_before == wanted


async def test_a_run_that_may_start_is_left_alone(scene: Scene) -> None:
    run = await queued_by(scene, "schedule")
    await open_window(scene, -HOUR, HOUR)
    before: Any = (await scene.queue.get(run.id)).not_before
    await hand_over_events(scene)
    assert (await scene.queue.get(run.id)).not_before == before
