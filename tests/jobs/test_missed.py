"""Occurrences that nobody ran in time: one run, the rest recorded, no burst, no drift."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from leitstand.jobs import Records, WindowLedger, WindowSource, explain, scheduler
from tests.jobs.scene import QUICK, Scene, control_server, eventually
from tests.jobs.server_processes import servers_on

MINUTE = timedelta(minutes=1)


async def test_thirty_days_of_a_minutely_job(scene: Scene) -> None:
    """Case 22: one run at once, one row with the count, the next slot on the grid, quickly."""
    await scene.job(schedule="* * * * *")
    await scene.rows(
        "UPDATE jobs SET next_run_at = date_trunc('minute', now()) - interval '30 days'"
        " RETURNING id"
    )
    began = time.monotonic()
    async with control_server(scene):
        run = await scene.ended(1)
        assert time.monotonic() - began < 5
    missed = await scene.non_runs("job")
    assert [row["reason"] for row in missed] == ["missed"]
    assert abs(missed[0]["count"] - 30 * 1440) <= 2
    job = await scene.jobs.get("job")
    assert job.skipped_runs == missed[0]["count"]
    assert job.next_run_at is not None
    assert job.next_run_at.second == 0
    assert job.next_run_at - run.scheduled_at <= 2 * MINUTE
    assert len(await scene.queue.list_runs()) == 1


async def test_a_claim_that_takes_long_leaves_the_others_to_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction has a deadline: many jobs after a long outage never came to be claimed."""
    monkeypatch.setattr(scheduler, "DECIDING", 0.0)
    for name in "abc":
        await scene.job(name, every="1h")
        await scene.make_due(name)
    windows = WindowSource(WindowLedger(scene.database), scene.downtimes)
    claims = scheduler.Scheduler(scene.database, scene.jobs, scene.queue, windows, 60.0)
    assert await claims.run_once(8) == scheduler.Claimed(jobs=1, runs=1, more=True)
    async with control_server(scene, replace(QUICK, tick=60.0)):
        await scene.ended(3)  # all in the first pass
    assert await claims.run_once(8) == scheduler.Claimed(jobs=0, runs=0, more=False)


async def test_policy_skip_runs_nothing_of_the_past(scene: Scene) -> None:
    await scene.job(every="1h", misfire="skip")
    await scene.make_due("job", 7300)
    async with control_server(scene):
        missed = await eventually(lambda: _non_runs(scene))
    assert missed[0]["count"] == 3
    assert await scene.queue.list_runs() == []


async def test_policy_all_runs_the_newest_up_to_its_limit(scene: Scene) -> None:
    await scene.job(every="1h", misfire="all", misfire_limit=2, overlap="allow")
    await scene.make_due("job", 5 * 3600 + 1800)
    async with control_server(scene):
        await scene.ended(2)
        missed = await eventually(lambda: _non_runs(scene))
    runs = await scene.queue.list_runs()
    assert [newer.scheduled_at - older.scheduled_at for newer, older in pairwise(runs)] == [
        timedelta(hours=1)
    ]
    assert missed[0]["count"] == 4


async def test_disabled_job_does_not_run_its_past(scene: Scene) -> None:
    """Case 23: pause, unpause, change the schedule: no immediate run."""
    await scene.job(every="1h")
    await scene.make_due("job", 3600)
    await scene.jobs.set_enabled("job", False)
    async with control_server(scene):
        job = await scene.jobs.set_enabled("job", True)
        assert job.next_run_at is not None
        assert job.next_run_at > datetime.now(UTC)
        await scene.job(schedule="0 4 * * *")
        await scene.job(schedule="0 8 * * *")
        await _passes(scene, 3)
    assert await scene.queue.list_runs() == []


async def test_edits_during_ticks_fire_the_new_schedule_only(scene: Scene) -> None:
    """Case 10: twenty edits while passes go on."""
    await scene.job(every="1h")
    async with control_server(scene, replace(QUICK, tick=0.02)):
        for number in range(20):
            await scene.job(every=f"{number + 2}h")
        await scene.job(every="1s")
        run = await scene.ended(1)
    job = await scene.jobs.get("job")
    assert job.trigger.expression == "1s"
    assert (run.scheduled_at - job.anchor).total_seconds() >= 1
    assert all(r.scheduled_at > job.anchor for r in await scene.queue.list_runs())


async def test_slots_stay_on_the_grid_however_long_runs_take(scene: Scene) -> None:
    """Case 28 end to end: planned times are anchor + n seconds, whatever the passes do."""
    await scene.job(every="1s")
    async with control_server(scene):
        await scene.ended(3)
    job = await scene.jobs.get("job")
    for run in await scene.queue.list_runs():
        assert (run.scheduled_at - job.anchor).total_seconds() % 1 == 0


async def test_survivor_runs_the_slot_of_a_stopped_server(scene: Scene, tmp_path: Path) -> None:
    """Cases 17, 18 and 20: a server dies just before a slot; another runs it, once."""
    await scene.job(every="1s", retry={"max_attempts": 1})
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        for number in range(6):
            server = await (await servers.start()).registered()
            await eventually(partial(_runs, scene, number + 2))
            if number % 2:
                await server.killed()
            else:
                await server.stopped()
    runs = await scene.queue.list_runs()
    assert len({run.scheduled_at for run in runs}) == len(runs)


async def test_why_names_missed_and_next(scene: Scene) -> None:
    await scene.job(every="1h", misfire="skip")
    await scene.make_due("job", 7300)
    async with control_server(scene):
        await eventually(lambda: _non_runs(scene))
    answer = await explain(Records(scene.jobs, scene.queue), "job")
    assert any("The next run is planned for" in sentence for sentence in answer.sentences)
    assert any("missed" in sentence for sentence in answer.sentences)
    at = datetime.now(UTC) - timedelta(seconds=5400)
    assert len((await explain(Records(scene.jobs, scene.queue), "job", at)).non_runs) == 1


async def test_splay_moves_the_start_not_the_plan(scene: Scene) -> None:
    await scene.job(every="1h", splay="0.5s")
    await scene.make_due("job")
    async with control_server(scene):
        run = await scene.ended(1)
    assert run.not_before > run.scheduled_at
    assert run.started_at is not None
    assert run.started_at >= run.not_before


async def _non_runs(scene: Scene) -> list[dict[str, object]] | None:
    return await scene.non_runs("job") or None


async def _runs(scene: Scene, count: int) -> bool | None:
    return len(await scene.queue.list_runs()) >= count or None


async def _passes(scene: Scene, count: int) -> None:
    """Wait until this many heartbeats have been committed since now."""
    seen: set[datetime] = set()

    async def look() -> bool | None:
        rows = await scene.rows("SELECT heartbeat_at FROM servers")
        seen.update(row["heartbeat_at"] for row in rows)
        return len(seen) > 2 * count or None

    await eventually(look)
