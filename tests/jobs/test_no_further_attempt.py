"""Failed runs that get no further attempt, and requested ones that get all of theirs."""

import pytest

from leitstand.errors import FailureClass
from leitstand.events import EventQueue, NewEvent
from leitstand.jobs import RunStatus
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from tests.jobs.scene import Scene, control_server, eventually, execute, hand_over_events

RETRY = {"max_attempts": 3, "backoff": 0}
STOPPED = Outcome(RunStatus.CANCELLED, "CANCELLED", "the control server was shut down", None)
BROKEN = Outcome(RunStatus.FAILED, "BROKEN", "it broke", FailureClass.TRANSIENT)


async def test_cancelling_outweighs_the_error_that_comes_of_it(scene: Scene) -> None:
    """Work that is torn down half-way raises; whoever cancelled it wants no retry."""
    await scene.job(kind="gate", params={"fail": True, "stubborn": True}, retry=RETRY)
    async with control_server(scene) as running:
        run = await scene.let_in()
        await scene.queue.cancel(run.id)

        async def told() -> bool | None:
            return any(task.cancelling() for task in running.server.passes.tasks) or None

        await eventually(told)
        scene.gate.opened.set()
        ended = await scene.ended(run)
    assert (ended.status, ended.error_code) == (RunStatus.CANCELLED, "CANCELLED")
    assert len(await scene.queue.list_runs()) == 1


@pytest.mark.parametrize("outcome", [STOPPED, BROKEN])
async def test_who_asked_for_the_end_gets_no_further_attempt(
    scene: Scene, outcome: Outcome
) -> None:
    """The owner had not heard of it when its shutdown stopped the run, or when that failed."""
    await scene.job(resume=True, retry=RETRY)
    await scene.queue.request("job")
    (started,) = await scene.queue.start("a", 1)
    await scene.queue.cancel(started.lease.run_id)
    await scene.queue.finish([FinishedRun(started.lease, outcome, retry_delay=0.0)])
    (ended,) = await scene.queue.list_runs()
    assert ended.next_attempt_at is None
    assert ended.no_retry_reason == "somebody asked for its end"


async def test_a_disabled_job_runs_on_request_with_all_its_attempts(scene: Scene) -> None:
    await scene.job(kind="gate", params={"fail": True}, retry=RETRY, enabled=False)
    scene.gate.opened.set()
    async with control_server(scene):
        first = await scene.ended(await scene.queue.request("job", user="anna"))
        third = await scene.ended(first.id + 2)
    assert (third.attempt, third.trigger_by, third.trigger_user) == (3, "retry", "anna")
    assert third.no_retry_reason == "3 of 3 attempts failed, none is left"


async def test_each_that_gets_none_says_so_however_the_others_fare(scene: Scene) -> None:
    """One waits for its second try, since the run that waited was started between two questions."""
    await scene.job("a", retry=RETRY)
    await scene.job("b", event="e", retry=RETRY)
    await EventQueue(scene.database).emit(NewEvent("e", "test", {}))
    await scene.queue.request("a")
    await hand_over_events(scene)
    leases = {run.job: run.lease for run in await scene.queue.start("me", 2)}
    waits = await scene.queue.request("a")
    await execute(scene, "CREATE SEQUENCE tries")
    await execute(
        scene,
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RETURN CASE WHEN NEW.job = ''a'' OR nextval(''tries'') > 1 THEN NEW END; END'",
    )
    await execute(
        scene, "CREATE TRIGGER lose BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION lose()"
    )
    await scene.queue.finish([FinishedRun(leases[job], BROKEN, retry_delay=0.0) for job in "ab"])
    first = await scene.queue.get(leases["a"].run_id)
    assert first.next_attempt_at is None
    assert first.no_retry_reason == "another run of the job is waiting already"
    queued = await scene.queue.list_runs(status=RunStatus.QUEUED)
    assert [(run.job, run.attempt) for run in queued] == [("b", 2), ("a", 1)]
    assert queued[1].id == waits.id
