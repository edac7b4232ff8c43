"""What uses up the attempts of a job: its failures, and not whatever else ended a run."""

import pytest

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Ending, HaltReason
from leitstand.jobs import Run, RunStatus
from leitstand.jobs.rescuer import Rescuer
from leitstand.jobs.runner import finish
from tests.jobs.scene import Scene

BROKEN = Ending(error=LeitstandError("it broke", failure_class=FailureClass.TRANSIENT))
STOPPED = Ending(cancelled=True)


async def run_comes_to(scene: Scene, ending: Ending, halted: HaltReason | None = None) -> Run:
    """Start the run that waits, and end it like this."""
    (started,) = await scene.queue.start("a", 1)
    await scene.queue.finish([finish(started, ending, halted, 0.0)])
    return await scene.queue.get(started.lease.run_id)


async def test_a_shutdown_uses_up_no_attempt(scene: Scene) -> None:
    await scene.job(resume=True, retry={"max_attempts": 2, "backoff": 0})
    await scene.queue.request("job")
    for _ in range(3):
        await run_comes_to(scene, STOPPED, HaltReason.SHUTDOWN)
    await run_comes_to(scene, BROKEN)
    await run_comes_to(scene, STOPPED, HaltReason.SHUTDOWN)
    last = await run_comes_to(scene, BROKEN)
    assert last.attempt == 6
    assert last.no_retry_reason == "2 of 2 attempts failed, none is left"
    assert await scene.queue.list_runs(status=RunStatus.QUEUED) == []


async def test_one_that_was_resumed_and_then_lost_is_tried_again(scene: Scene) -> None:
    await scene.job(resume=True, retry={"max_attempts": 2, "backoff": 0})
    await scene.queue.request("job")
    await run_comes_to(scene, STOPPED, HaltReason.SHUTDOWN)
    for attempt, goes_on in ((2, True), (3, False)):
        await scene.queue.start("dead", 1)
        (lost,) = await Rescuer(scene.database, scene.queue, 0.0).run_once()
        ended = await scene.queue.get(lost.id)
        assert (ended.attempt, ended.error_code) == (attempt, "LEASE_EXPIRED")
        assert (ended.next_attempt_at is not None) is goes_on


@pytest.mark.parametrize(
    ("first", "halted", "goes_on"),
    [(STOPPED, HaltReason.PERSON, True), (BROKEN, None, False)],
    ids=["cancelled", "failed"],
)
async def test_a_retry_by_hand_has_what_the_failures_left(
    scene: Scene, first: Ending, halted: HaltReason | None, goes_on: bool
) -> None:
    await scene.job(retry={"max_attempts": 1, "backoff": 0})
    await scene.queue.request("job")
    ended = await run_comes_to(scene, first, halted)
    await scene.job(retry={"max_attempts": 2, "backoff": 0})
    await scene.queue.retry(ended.id)
    await run_comes_to(scene, BROKEN)
    assert len(await scene.queue.list_runs(status=RunStatus.QUEUED)) == goes_on
