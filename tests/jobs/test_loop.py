"""The life of a run on one control server."""

from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from leitstand.errors import ConflictError, NotFoundError, UsageError
from leitstand.jobs import JobSpec, RunStatus
from tests.jobs.scene import QUICK, Scene, control_server, eventually

SLOW_TICK = replace(QUICK, tick=60.0, heartbeat=0.1)


async def test_due_job_runs_once_and_is_advanced(scene: Scene) -> None:
    await scene.job(every="1h")
    await scene.make_due("job", 0.1)
    async with control_server(scene):
        run = await scene.ended(1)
    assert run.status is RunStatus.SUCCEEDED
    assert (run.trigger_by, run.attempt) == ("schedule", 1)
    job = await scene.jobs.get("job")
    assert job.next_run_at is not None
    assert job.next_run_at > run.scheduled_at
    assert job.last_outcome == "succeeded"
    assert len(await scene.queue.list_runs()) == 1


async def test_run_now_starts_by_notification(scene: Scene) -> None:
    """With a tick of a minute only NOTIFY can start it soon."""
    await scene.job()
    async with control_server(scene, SLOW_TICK) as running:
        await eventually(lambda: _registered(scene))
        run = await scene.ended(await scene.queue.request("job", user="anna"))
    assert running.server.outcomes["succeeded"] == 1  # counted when the commit is confirmed
    assert (run.trigger_by, run.trigger_user) == ("user", "anna")
    assert run.started_at is not None
    assert run.started_at - run.queued_at < timedelta(seconds=2)


async def test_run_now_without_listen_starts_within_a_tick(scene: Scene) -> None:
    await scene.job()
    async with control_server(scene, replace(QUICK, listen=False)):
        await eventually(lambda: _registered(scene))
        run = await scene.ended(await scene.queue.request("job"))
    assert run.status is RunStatus.SUCCEEDED


async def test_manual_run_leaves_the_schedule_alone(scene: Scene) -> None:
    await scene.job(schedule="0 0 1 1 *")
    before = (await scene.jobs.get("job")).next_run_at
    async with control_server(scene):
        await scene.ended(await scene.queue.request("job"))
    assert (await scene.jobs.get("job")).next_run_at == before


async def test_log_and_progress_are_visible_while_it_runs(scene: Scene) -> None:
    await scene.job(kind="gate")
    async with control_server(scene):
        run = await scene.queue.request("job")
        seen = await scene.when(lambda r: r.progress_percent == 50, run.id)
        assert seen.status is RunStatus.RUNNING
        assert seen.progress_message == "half way"
        assert [entry.text for entry in await scene.queue.logs(run.id)] == [f"run {run.id} entered"]


async def test_partial_failure_is_no_success_and_not_retried(scene: Scene) -> None:
    """Case 71 in small: skipped objects make a partial failure with the first reason."""
    await scene.job(kind="gate", params={"skipped": 2})
    scene.gate.opened.set()
    async with control_server(scene):
        run = await scene.ended(await scene.queue.request("job"))
    assert run.status is RunStatus.PARTIAL_FAILURE
    assert run.error_code == "PARTIAL_FAILURE"
    assert run.error_message is not None
    assert "2" in run.error_message
    assert "locked" in run.error_message
    assert len(await scene.queue.list_runs()) == 1


async def test_transient_failure_is_retried_until_the_attempts_are_used(scene: Scene) -> None:
    retry = {"max_attempts": 3, "backoff": 0.01}
    await scene.job(kind="gate", params={"fail": True}, retry=retry)
    scene.gate.opened.set()
    async with control_server(scene):
        first = await scene.ended(await scene.queue.request("job"))
        third = await scene.ended(first.id + 2)
    runs = sorted(await scene.queue.list_runs(), key=lambda r: r.id)
    assert [r.attempt for r in runs] == [1, 2, 3]
    assert len({r.correlation_id for r in runs}) == 1
    assert all(r.status is RunStatus.FAILED for r in runs)
    assert first.next_attempt_at is not None
    assert runs[1].started_at is not None
    assert runs[1].started_at >= first.next_attempt_at
    assert third.no_retry_reason is not None
    assert third.next_attempt_at is None


async def test_unknown_kind_fails_loudly(scene: Scene) -> None:
    with pytest.raises(UsageError, match="nonsense") as caught:
        await scene.job(kind="nonsense")
    assert "gate" in (caught.value.remedy or "")
    await scene.job()
    await scene.rows("UPDATE jobs SET kind = 'gone' RETURNING id")
    async with control_server(scene):
        run = await scene.ended(await scene.queue.request("job"))
    assert (run.status, run.error_code) == (RunStatus.FAILED, "NOT_IMPLEMENTED")
    assert run.failure_class == "permanent"


async def test_run_of_a_deleted_job_fails_as_unreadable(scene: Scene) -> None:
    await scene.job()
    run = await scene.queue.request("job")
    await scene.rows("DELETE FROM jobs RETURNING id")
    async with control_server(scene):
        ended = await scene.ended(run)
    assert (ended.error_code, ended.failure_class) == ("JOB_UNREADABLE", "transient")
    assert ended.no_retry_reason == "the job no longer exists"


async def test_dependency_is_judged_at_the_start(scene: Scene) -> None:
    """Case 70: the parent's last outcome at the dependent's own start counts."""
    await scene.job("parent", kind="gate", params={"skipped": 1})
    await scene.job("child", depends_on=["parent"], retry={"max_attempts": 1})
    scene.gate.opened.set()
    async with control_server(scene):
        never = await scene.ended(await scene.queue.request("child"))
        await scene.ended(await scene.queue.request("parent"))
        partial = await scene.ended(await scene.queue.request("child"))
        await scene.job("parent", kind="gate")
        await scene.ended(await scene.queue.request("parent"))
        good = await scene.ended(await scene.queue.request("child"))
    assert never.error_message == "the job depends on 'parent', which has never run"
    assert (never.error_code, never.failure_class) == ("DEPENDENCY_NOT_SATISFIED", "transient")
    assert partial.error_message is not None
    assert "partial_failure" in partial.error_message
    assert good.status is RunStatus.SUCCEEDED


async def test_dependency_cycle_is_refused(scene: Scene) -> None:
    await scene.job("a")
    await scene.job("b", depends_on=["a"])
    with pytest.raises(UsageError, match="a -> b -> a"):
        await scene.job("a", depends_on=["b"])


async def test_cancel_queued_and_running(scene: Scene) -> None:
    await scene.job("waits", enabled=True)
    queued = await scene.queue.request("waits")
    assert (await scene.queue.cancel(queued.id)).status is RunStatus.CANCELLED
    await scene.job("works", kind="gate", retry={"max_attempts": 3})
    async with control_server(scene, SLOW_TICK):
        await eventually(lambda: _registered(scene))
        run = await scene.running(await scene.queue.request("works"))
        await scene.queue.cancel(run.id, "anna")
        ended = await scene.ended(run)
    assert (ended.status, ended.error_code) == (RunStatus.CANCELLED, "CANCELLED")
    assert len(await scene.queue.list_runs(job="works")) == 1
    with pytest.raises(ConflictError):
        await scene.queue.cancel(run.id)


async def test_timeout_ends_a_run_as_failed(scene: Scene) -> None:
    await scene.job(kind="gate", timeout=0.2, retry={"max_attempts": 1})
    async with control_server(scene):
        run = await scene.ended(await scene.queue.request("job"))
    assert (run.status, run.error_code) == (RunStatus.FAILED, "TIMEOUT")
    assert run.failure_class == "transient"


async def test_overlap_is_skipped_with_a_reason(scene: Scene) -> None:
    """Case 12: the next slot while a run is active is recorded, not run."""
    await scene.job(kind="gate", every="1h")
    async with control_server(scene):
        run = await scene.running(await scene.queue.request("job"))
        await scene.make_due("job", 0.1)
        non_runs = await eventually(lambda: _some(scene.non_runs("job")))
    assert non_runs[0]["reason"] == "overlap"
    assert str(run.id) in non_runs[0]["detail"]
    assert len(await scene.queue.list_runs()) == 1


async def test_overlap_queue_lets_one_wait(scene: Scene) -> None:
    await scene.job(kind="gate", every="1h", overlap="queue")
    async with control_server(scene):
        await scene.running(await scene.queue.request("job"))
        await scene.make_due("job", 0.3)
        await eventually(lambda: _count(scene, 2))
        await scene.make_due("job", 0.1)
        await eventually(lambda: _some(scene.non_runs("job")))
        scene.gate.opened.set()
        second = await scene.ended(2)
    assert second.status is RunStatus.SUCCEEDED
    assert scene.gate.most_inside == 1


async def test_overlap_allow_runs_side_by_side(scene: Scene) -> None:
    await scene.job(kind="gate", overlap="allow")
    async with control_server(scene):
        for _ in range(3):
            await scene.running(await scene.queue.request("job"))
        await eventually(lambda: _entered(scene, 3))
        assert scene.gate.inside == 3


async def test_concurrency_limit_and_priority(scene: Scene) -> None:
    for name, priority in (("low", 0), ("high", 5), ("middle", 1)):
        await scene.job(name, kind="gate", priority=priority)
        await scene.queue.request(name)
    async with control_server(scene, replace(QUICK, max_concurrent_runs=1)):
        await eventually(lambda: _entered(scene, 1))
        assert scene.gate.inside == 1
        scene.gate.opened.set()
        await eventually(lambda: _entered(scene, 3))
    assert [facts.job for facts in scene.gate.entered] == ["high", "middle", "low"]
    assert scene.gate.most_inside == 1


async def test_broken_schedule_stops_no_other_job(scene: Scene) -> None:
    await scene.job("broken", every="1h")
    await scene.job("sound", every="1h")
    await scene.rows("UPDATE jobs SET expression = 'rubbish' WHERE name = 'broken' RETURNING id")
    await scene.make_due("broken", 0.2)
    await scene.make_due("sound", 0.1)
    async with control_server(scene):
        run = await scene.ended(1)
    assert run.job == "sound"
    broken = await scene.jobs.get("broken")
    assert broken.schedule_error is not None
    assert broken.next_run_at is None
    assert (await scene.non_runs("broken"))[0]["reason"] == "schedule_error"


async def test_second_request_while_one_waits_is_refused(scene: Scene) -> None:
    await scene.job()
    await scene.queue.request("job")
    with pytest.raises(ConflictError, match="waiting already"):
        await scene.queue.request("job")
    with pytest.raises(NotFoundError):
        await scene.queue.request("nobody")


async def test_deleting_a_job_keeps_its_history(scene: Scene) -> None:
    await scene.job()
    run = await scene.queue.request("job")
    with pytest.raises(ConflictError, match=f"run {run.id}"):
        await scene.jobs.delete("job")
    async with control_server(scene):
        await scene.ended(run)
    await scene.jobs.delete("job")
    assert (await scene.queue.get(run.id)).job == "job"


async def test_prune_keeps_the_newest_run_of_a_job(scene: Scene) -> None:
    await scene.job()
    async with control_server(scene):
        for _ in range(3):
            last = await scene.ended(await scene.queue.request("job"))
    await scene.rows("UPDATE runs SET finished_at = finished_at - interval '9 days' RETURNING id")
    assert await scene.queue.prune(older_than=86400 * 8.0) == 2
    assert await scene.queue.prune(older_than=86400 * 8.0) == 0
    assert [run.id for run in await scene.queue.list_runs()] == [last.id]


async def test_retry_by_hand_is_a_further_attempt(scene: Scene) -> None:
    await scene.job()
    first = await scene.queue.request("job")
    with pytest.raises(ConflictError, match="only runs that have ended"):
        await scene.queue.retry(first.id)
    await scene.queue.cancel(first.id)
    async with control_server(scene):
        second = await scene.ended(await scene.queue.retry(first.id, "anna"))
    assert (second.attempt, second.correlation_id) == (2, first.correlation_id)


async def test_what_succeeded_is_not_retried(scene: Scene) -> None:
    """Whoever asks for it has most likely mistaken the number; the error says how to run it."""
    await scene.job()
    async with control_server(scene):
        run = await scene.ended(await scene.queue.request("job"))
    with pytest.raises(ConflictError) as refused:
        await scene.queue.retry(run.id)
    assert refused.value.remedy == "To do the work once more: leitstand job run job"
    for status in ("failed", "partial_failure", "cancelled"):
        await scene.rows(f"UPDATE runs SET status = '{status}' WHERE id = {run.id} RETURNING id")
        again = await scene.queue.retry(run.id)
        assert again.status is RunStatus.QUEUED
        await scene.queue.cancel(again.id)
    with pytest.raises(ConflictError, match="has ended already: cancelled"):
        await scene.queue.cancel(run.id)


async def test_job_spec_names_the_wrong_field() -> None:
    with pytest.raises(ValueError, match="only one of schedule, every"):
        JobSpec(name="x", kind="noop", schedule="@daily", every="1h")


async def _registered(scene: Scene) -> bool | None:
    return await scene.rows("SELECT 1 AS one FROM servers") != [] or None


async def _count(scene: Scene, runs: int) -> bool | None:
    return len(await scene.queue.list_runs()) >= runs or None


async def _entered(scene: Scene, count: int) -> bool | None:
    return len(scene.gate.entered) >= count or None


async def _some(rows: Awaitable[list[dict[str, Any]]]) -> list[dict[str, Any]] | None:
    return await rows or None
