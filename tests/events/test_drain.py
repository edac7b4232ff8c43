"""Events and the jobs that listen: real control servers, a real database."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from leitstand.events import EventQueue, EventRefusedError, EventState, NewEvent, Waiting
from leitstand.jobs import (
    Deliver,
    JobLedger,
    Records,
    Run,
    RunStatus,
    WindowLedger,
    WindowSource,
    explain,
    parse_window,
)
from leitstand.jobs.event_drain import EventDrain
from leitstand.jobs.event_runs import EventRuns
from tests.events.flooding import JOBS, flood
from tests.jobs.scene import Scene, control_server, eventually

FLOOD = 6_000


async def emit(scene: Scene, events: EventQueue, *numbers: int, **fields: Any) -> None:
    """Store events ``e`` with these numbers, in one transaction."""
    async with scene.database.transaction() as connection:
        await events.emit_in(
            connection, [NewEvent("e", "test", {"n": n}, **fields) for n in numbers]
        )


async def runs_of(scene: Scene, job: str, count: int) -> list[Run]:
    """The job's runs, oldest first, once there are so many and all have ended."""

    async def look() -> list[Run] | None:
        runs = await scene.queue.list_runs(job, limit=1000)
        done = len(runs) == count and all(run.status.is_final for run in runs)
        return runs[::-1] if done else None

    return await eventually(look)


async def drained(events: EventQueue) -> None:
    """Wait until no event waits for a pass."""

    async def look() -> bool | None:
        return not await events.list_events(state=EventState.WAITING) or None

    await eventually(look)


def payload(run: Run) -> Any:
    assert run.event is not None
    return run.event["payload"]["n"]


async def states(events: EventQueue) -> list[str]:
    return [event.state.value for event in reversed(await events.list_events(limit=1000))]


async def test_many_become_one_run_with_the_newest_payload(
    scene: Scene, events: EventQueue
) -> None:
    """Case 31: five wrong logins make five events and one run that counts five."""
    await scene.job(event="e")
    await emit(scene, events, 1, 2, 3, 4, 5)
    async with control_server(scene):
        (run,) = await runs_of(scene, "job", 1)
    assert run.trigger_by == "event"
    assert run.event is not None
    assert (payload(run), run.event["count"], run.event["name"]) == (5, 5, "e")
    assert [each["payload"]["n"] for each in run.event["events"]] == [1, 2, 3, 4, 5]
    assert await states(events) == ["coalesced"] * 4 + ["consumed"]
    assert {event.run for event in await events.list_events()} == {run.id}


async def test_what_comes_during_a_run_leads_to_exactly_one_more(
    scene: Scene, events: EventQueue
) -> None:
    await scene.job(kind="gate", event="e")
    async with control_server(scene):
        await emit(scene, events, 1)
        await eventually(lambda: _entered(scene, 1))
        for number in (2, 3, 4):
            await emit(scene, events, number)
            await drained(events)
        assert len(await scene.queue.list_runs("job")) == 2
        scene.gate.opened.set()
        first, second = await runs_of(scene, "job", 2)
    assert (payload(first), payload(second)) == (1, 4)
    assert second.event is not None
    assert second.event["count"] == 3
    assert second.started_at is not None
    assert first.finished_at is not None
    assert second.started_at >= first.finished_at


async def _entered(scene: Scene, count: int) -> bool | None:
    return len(scene.gate.entered) >= count or None


async def test_a_run_for_each_in_order(scene: Scene, events: EventQueue) -> None:
    await scene.job(event="e", deliver=Deliver.EACH)
    await scene.job("counts", event="e")
    await emit(scene, events, *range(1, 9))
    async with control_server(scene), control_server(scene, name="b"):
        runs = await runs_of(scene, "job", 8)
        (counting,) = await runs_of(scene, "counts", 1)
    assert [payload(run) for run in runs] == list(range(1, 9))
    ends = [(run.started_at, run.finished_at) for run in runs]
    assert all(a[1] <= b[0] for a, b in pairwise(ends) if a[1] and b[0])
    assert counting.event is not None
    assert counting.event["count"] == 8
    assert await states(events) == ["consumed"] * 8


async def test_the_order_holds_over_further_attempts(scene: Scene, events: EventQueue) -> None:
    scene.gate.opened.set()
    retry = {"max_attempts": 2, "backoff": 0}
    await scene.job(
        kind="gate", params={"fail": True}, event="e", deliver=Deliver.EACH, retry=retry
    )
    await emit(scene, events, 1, 2)
    async with control_server(scene):
        runs = await runs_of(scene, "job", 4)
    assert [(payload(run), run.attempt) for run in runs] == [(1, 1), (1, 2), (2, 1), (2, 2)]


async def test_a_run_that_waits_gets_the_events_of_one_that_failed(
    scene: Scene, events: EventQueue
) -> None:
    """No further attempt can wait beside it: the events must not end with the run that had them."""
    retry = {"max_attempts": 2, "backoff": 0}
    await scene.job(kind="gate", params={"fail": True}, event="e", retry=retry)
    async with control_server(scene):
        await emit(scene, events, 1, 2)
        await eventually(lambda: _entered(scene, 1))
        await emit(scene, events, 3)
        await drained(events)
        scene.gate.opened.set()
        runs = await runs_of(scene, "job", 3)
    assert [(payload(run), run.attempt) for run in runs] == [(2, 1), (3, 1), (3, 2)]
    assert [run.event["count"] for run in runs if run.event] == [2, 3, 3]
    assert runs[1].event is not None
    assert [each["payload"]["n"] for each in runs[1].event["events"]] == [1, 2, 3]
    assert runs[0].next_attempt_at is None
    assert f"run {runs[1].id} " in str(runs[0].no_retry_reason)


async def test_a_requested_run_displaces_no_event(scene: Scene, events: EventQueue) -> None:
    """One event at a time: the failed run's comes again, after the run that somebody asked for."""
    retry = {"max_attempts": 2, "backoff": 0}
    await scene.job(
        kind="gate", params={"fail": True}, event="e", deliver=Deliver.EACH, retry=retry
    )
    async with control_server(scene):
        await emit(scene, events, 1, 2)
        await eventually(lambda: _entered(scene, 1))
        await scene.queue.request("job")
        scene.gate.opened.set()
        runs = await runs_of(scene, "job", 7)
    told = [(run.event["payload"]["n"] if run.event else None, run.attempt) for run in runs]
    assert told == [(1, 1), (None, 1), (None, 2), (1, 1), (1, 2), (2, 1), (2, 2)]


async def test_nobody_listens(scene: Scene, events: EventQueue) -> None:
    """Neither a disabled job hears an event, nor one of another tenant; it is not kept for them."""
    await scene.job("disabled", event="e", enabled=False)
    await scene.job("stranger", event="e", tenant="other")
    await emit(scene, events, 1)
    async with control_server(scene):
        await drained(events)
    assert await states(events) == ["unheard"]
    await scene.jobs.set_enabled("disabled", True)
    async with control_server(scene):
        await emit(scene, events, 2)
        (run,) = await runs_of(scene, "disabled", 1)
    assert run.event is not None
    assert run.event["count"] == 1


async def test_an_event_that_waits_for_a_job_is_dropped_when_the_job_wants_another(
    scene: Scene, events: EventQueue
) -> None:
    await scene.job(kind="gate", event="e", deliver=Deliver.EACH)
    await emit(scene, events, 1, 2, 3)
    async with control_server(scene):
        await eventually(lambda: _entered(scene, 1))
        await scene.job(kind="gate", event="f", deliver=Deliver.EACH)
        scene.gate.opened.set()
        await runs_of(scene, "job", 1)
    assert await scene.rows("SELECT * FROM event_deliveries") == []


async def test_a_message_is_stored_once(scene: Scene, events: EventQueue) -> None:
    first = await events.emit(NewEvent("e", "hook", {"n": 1}, message_id="m"))
    assert first is not None
    assert await events.emit(NewEvent("e", "hook", {"n": 2}, message_id="m")) is None
    assert await events.emit(NewEvent("e", "other", {"n": 3}, message_id="m")) is not None


async def test_a_payload_too_large_is_refused(events: EventQueue) -> None:
    with pytest.raises(EventRefusedError, match="64 KiB"):
        await events.emit(NewEvent("e", "test", {"x": "y" * 70_000}))


async def test_an_event_waits_for_the_end_of_a_window_and_follows_it(
    scene: Scene, events: EventQueue
) -> None:
    now = datetime.now(UTC)
    windows = WindowLedger(scene.database)
    until = now + timedelta(hours=1)
    spec = {"name": "freeze", "from": now - timedelta(hours=1), "to": until}
    await windows.save(parse_window(spec))
    await scene.job(event="e")
    async with control_server(scene):
        await emit(scene, events, 1)
        await drained(events)
        (run,) = await scene.queue.list_runs("job")
        assert (run.status, run.not_before) == (RunStatus.QUEUED, until)
        await windows.delete("freeze")
        await runs_of(scene, "job", 1)


async def test_the_end_of_a_run_is_an_event(scene: Scene, events: EventQueue) -> None:
    """For who listens to all failures, and for who listens to those of one job."""
    scene.gate.opened.set()
    await scene.job("work", "gate", params={"fail": True}, retry={"max_attempts": 1})
    await scene.job("any", event="run.failed")
    await scene.job("certain", event="run.failed:work")
    await scene.job("then", event="run.succeeded:certain")
    await scene.job("itself", event="run.succeeded")
    async with control_server(scene):
        failed = await scene.queue.request("work")
        (any_run,) = await runs_of(scene, "any", 1)
        (certain,) = await runs_of(scene, "certain", 1)
        await runs_of(scene, "then", 1)
        await drained(events)
    assert any_run.event is not None
    assert certain.event is not None
    for event in (any_run.event, certain.event):
        assert event["payload"]["run"] == failed.id
        assert event["payload"]["error_code"] == "BROKEN"
    # What such an event started is no news to who hears of all runs: it would never end.
    assert await scene.queue.list_runs("itself") == []


async def test_each_event_is_told_once_it_is_handed_over(scene: Scene, events: EventQueue) -> None:
    """To whoever listens live; a pass that finds nothing tells nothing."""
    told: list[Waiting] = []
    windows = WindowSource(WindowLedger(scene.database), scene.downtimes)
    runs = EventRuns(scene.queue.tell)
    drain = EventDrain(scene.database, scene.jobs, runs, windows, told.append)
    stored = await events.emit(NewEvent("e", "x", {"n": 1}, tenant="acme"))
    assert stored is not None
    for _ in range(2):
        await drain.run_once()
    wanted = ("id", "tenant", "name", "source", "occurred_at")
    assert [each.as_dict() for each in told] == [{k: stored.as_dict()[k] for k in wanted}]


async def test_a_flood_starves_nothing(scene: Scene, events: EventQueue) -> None:
    """At most one run works and one waits; the last event is followed by a run."""
    found = await flood(scene, events, FLOOD)
    assert max(found.most.running, found.most.queued) <= 1
    for job in JOBS:
        assert found.counted(job) == FLOOD
        assert found.is_followed(job)


async def test_an_event_that_nothing_produces_is_shown_as_unknown(scene: Scene) -> None:
    jobs = JobLedger(scene.database, scene.kinds, lambda name: name == "known")
    await scene.job("a", event="known")
    await scene.job("b", event="nonesuch")
    await scene.job("c")
    assert [job.unknown_event for job in await jobs.list_all()] == [False, True, False]
    explanation = await explain(Records(jobs, scene.queue), "b")
    assert "nothing here produces one" in explanation.sentences[0]


async def test_deliver_needs_an_event(scene: Scene) -> None:
    with pytest.raises(ValueError, match="deliver is for a job that an event starts"):
        await scene.job(deliver=Deliver.EACH)


async def test_old_events_are_pruned_but_not_those_that_are_waited_for(
    scene: Scene, events: EventQueue
) -> None:
    await scene.job(kind="gate", event="e", deliver=Deliver.EACH)
    await emit(scene, events, 1, 2)
    async with control_server(scene):
        await eventually(lambda: _entered(scene, 1))
    await emit(scene, events, 3)
    async with scene.database.connection() as connection:
        await connection.execute("UPDATE events SET stored_at = now() - interval '1 day'")
    assert await events.prune(3600) == 1
    assert [event.payload["n"] for event in await events.list_events()] == [3, 2]
