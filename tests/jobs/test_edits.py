"""A job is edited, enabled or disabled while something of it is due or waits."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leitstand.errors import ConflictError, NotFoundError, UsageError
from leitstand.jobs import RunStatus
from tests.jobs.scene import Scene, control_server, eventually, execute

RETRY = {"max_attempts": 2, "backoff": "1h"}


async def failed_once(scene: Scene, **fields: Any) -> int:
    """A job whose run has failed; the id of the next attempt, which waits for an hour."""
    scene.gate.opened.set()
    await scene.job(kind="gate", params={"fail": True}, retry=RETRY, **fields)
    async with control_server(scene):
        run = await scene.ended(await scene.queue.request("job"))
    return run.id + 1


async def test_a_run_that_waits_follows_the_edit_of_its_job(scene: Scene) -> None:
    """Or the parameters of the new kind would go to the old one, at the place it was taken from."""
    waits = await failed_once(scene, group="a", runs_on=[])
    await scene.job(kind="noop", group="b", priority=7, runs_on=["web1"], retry=RETRY)
    run = await scene.queue.get(waits)
    assert (run.status, run.kind, run.priority) == (RunStatus.QUEUED, "noop", 7)
    assert run.runs_on == ("web1",)
    groups = {group.name: group.waiting for group in await scene.jobs.list_groups()}
    assert groups == {"a": 0, "b": 1}
    await scene.job(kind="noop", retry=RETRY)
    await scene.rows("UPDATE runs SET not_before = now() WHERE id = %s RETURNING id", waits)
    async with control_server(scene):
        assert (await scene.ended(waits)).status is RunStatus.SUCCEEDED


async def test_a_further_attempt_is_made_as_its_job_is_now(scene: Scene) -> None:
    await scene.job(kind="gate", params={"fail": True}, overlap="allow", retry=RETRY)
    async with control_server(scene):
        run = await scene.let_in()
        await scene.job(kind="noop", priority=3, group="g", retry=RETRY)
        scene.gate.opened.set()
        await scene.ended(run)
    further = await scene.queue.get(run.id + 1)
    assert (further.kind, further.priority) == ("noop", 3)
    with pytest.raises(ConflictError, match="waiting already"):
        await scene.queue.request("job")


@pytest.mark.parametrize("edit", ["disabled", "schedule"])
async def test_what_was_due_leaves_a_row_when_its_job_changes(scene: Scene, edit: str) -> None:
    """No server had claimed it: nobody else could say why it did not run."""
    await scene.job(every="1h")
    await scene.make_due("job", 2.5 * 3600)
    due = (await scene.jobs.get("job")).next_run_at
    if edit == "disabled":
        await scene.jobs.set_enabled("job", False)
    else:
        await scene.job(every="2h")
    (dropped,) = await scene.non_runs("job")
    assert (dropped["reason"], dropped["scheduled_at"]) == ("superseded", due)
    assert dropped["count"] == 3
    assert "before a control server claimed it" in dropped["detail"]


async def test_enabling_what_is_enabled_drops_nothing(scene: Scene) -> None:
    await scene.job(every="1h")
    await scene.make_due("job", 60)
    due = (await scene.jobs.get("job")).next_run_at
    assert (await scene.jobs.set_enabled("job", True)).next_run_at == due
    assert await scene.non_runs("job") == []


async def test_a_schedule_that_failed_is_planned_anew_by_any_edit(scene: Scene) -> None:
    """The error was cleared, and the time was not: the job never ran again without a word."""
    for repair in (
        lambda: scene.job(schedule="0 2 * * *", timezone="Europe/Berlin", priority=1),
        lambda: scene.jobs.set_enabled("job", True),
    ):
        await scene.job(schedule="0 2 * * *", timezone="Europe/Berlin")
        await scene.rows(
            "UPDATE jobs SET schedule_error = 'no such zone', next_run_at = NULL RETURNING id"
        )
        await repair()
        job = await scene.jobs.get("job")
        assert job.schedule_error is None
        assert job.next_run_at is not None


async def test_another_window_policy_counts_for_what_waits(scene: Scene) -> None:
    """A single time waits for a window of which nothing is known; then it may run all the same."""
    at = f"{datetime.now(UTC) + timedelta(seconds=0.5):%Y-%m-%dT%H:%M:%S.%f}Z"
    await scene.job(at=at, window_policy="only")
    async with control_server(scene):

        async def waits() -> bool | None:
            return (await scene.jobs.get("job")).postponed_from is not None or None

        await eventually(waits)
        assert (await scene.jobs.get("job")).next_run_at is None
        await scene.job(at=at, window_policy="run")
        await scene.ended(1)


async def test_a_request_that_loses_a_race_is_made_again(scene: Scene) -> None:
    """The run that waited is started between two questions: the job exists all the same."""
    await scene.job()
    await execute(scene, "CREATE SEQUENCE tries")
    await execute(
        scene,
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RETURN CASE nextval(''tries'') WHEN 1 THEN NULL ELSE NEW END; END'",
    )
    await execute(
        scene, "CREATE TRIGGER lose BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION lose()"
    )
    run = await scene.queue.request("job")
    assert run.status is RunStatus.QUEUED
    with pytest.raises(NotFoundError):
        await scene.queue.request("jab")


async def test_two_that_are_saved_at_once_close_no_cycle(scene: Scene) -> None:
    """Each of them would be right without the other."""
    for name in ("a", "b"):
        await scene.job(name)
    for _ in range(5):
        saved = await asyncio.gather(
            scene.job("a", depends_on=["b"]),
            scene.job("b", depends_on=["a"]),
            return_exceptions=True,
        )
        assert [type(each) for each in saved if each is not None] == [UsageError]
        for name in ("a", "b"):
            await scene.job(name)
