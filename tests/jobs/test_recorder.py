"""Results that the database, the disk or JSON do not take, and who hears of ends."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, cast

from leitstand.duties import going_on
from leitstand.execution import Isolation, Lease, Params, Reporter, Result, RunFacts
from leitstand.jobs import EndedRun, Queue, RunStatus
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.recorder import Recorder
from leitstand.jobs.spool import Spool
from leitstand.store.database import Connection, Database
from tests.jobs.scene import NoParams, Scene, control_server, execute, scene_on


def succeeded(lease: Lease) -> FinishedRun:
    return FinishedRun(lease, Outcome(RunStatus.SUCCEEDED, None, None, None))


async def test_results_that_can_be_written_nowhere_are_counted(
    scene: Scene, tmp_path: Path
) -> None:
    """It ends all the same, and says how many runs it leaves to their leases."""
    (tmp_path / "file").touch()
    spool = Spool(tmp_path / "file" / "spool")
    recorder = Recorder(scene.queue, spool, lambda *_: None)
    for run in (1, 2):
        recorder.add(succeeded(Lease(run, 1)))
    assert await recorder.settle(0.01) == 2


async def test_a_fault_in_who_is_told_does_not_hold_up_the_end(
    scene: Scene, tmp_path: Path
) -> None:
    """All is written: the server that ends waits for nothing."""

    def fail(finished: FinishedRun, written: bool) -> None:
        raise KeyError(finished.lease.run_id)

    recorder = Recorder(scene.queue, Spool(tmp_path), fail)
    async with asyncio.timeout(10), going_on([recorder.run], pause=0.01):
        recorder.add(succeeded(Lease(1, 1)))
        assert await recorder.settle(60) == 0


class Unstorable:
    """A kind of somebody else's that returns what JSON does not have."""

    kind: ClassVar[str] = "unstorable"
    params: ClassVar[type[Params]] = NoParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    async def execute(self, params: NoParams, run: RunFacts, reporter: Reporter) -> Result:
        reporter.progress(message=cast("str", {"a", "set"}))
        return Result(result={"path": Path("/")})


async def test_a_result_that_cannot_be_stored_holds_up_nobody(
    database: Database, tmp_path: Path
) -> None:
    """It ended the writing of results: whatever ended later on that server was running for ever."""
    scene = scene_on(database, tmp_path / "spool", [Unstorable()])
    await scene.job("odd", kind="unstorable")
    await scene.job()
    async with control_server(scene):
        odd = await scene.ended(await scene.queue.request("odd"))
        good = await scene.ended(await scene.queue.request("job"))
    assert (odd.status, odd.error_code) == (RunStatus.FAILED, "RESULT_NOT_STORED")
    assert odd.error_message is not None
    assert "has no JSON form" in odd.error_message
    assert good.status is RunStatus.SUCCEEDED


async def test_a_result_that_the_database_refuses_lets_the_others_pass(scene: Scene) -> None:
    """At the end of a run, and among those that an earlier process has left on disk."""
    for name in ("bad", "kept", "good"):
        await scene.job(name)
        await scene.queue.request(name)
    started = {run.job: run.lease for run in await scene.queue.start("a", 3)}
    await execute(
        scene,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RAISE ''not this one''; END'",
    )
    await execute(
        scene,
        "CREATE TRIGGER refuse BEFORE UPDATE ON runs FOR EACH ROW WHEN (NEW.job = 'bad')"
        " EXECUTE FUNCTION refuse()",
    )
    spool = Spool(scene.spool)
    for name in ("bad", "kept"):
        spool.keep(succeeded(started[name]))
    recorder = Recorder(scene.queue, spool, lambda *_: None)
    await recorder.recover()
    assert len(list(spool.read())) == 1
    recorder.add(succeeded(started["bad"]))
    recorder.add(succeeded(started["good"]))
    writing = asyncio.create_task(recorder.run())
    try:
        await scene.ended(started["good"].run_id)
    finally:
        writing.cancel()
    assert (await scene.queue.get(started["kept"].run_id)).status is RunStatus.SUCCEEDED
    assert await recorder.settle(0.01) == 1


async def test_whoever_is_told_of_ends_may_fail(scene: Scene) -> None:
    """In whatever way: the end of the run is written, and of those after it, too."""

    class Deaf:
        async def ended_in(self, connection: Connection, runs: Sequence[EndedRun]) -> None:
            raise KeyError("not foreseen")

    queue = Queue(scene.database, watcher=Deaf())
    await scene.job()
    await queue.request("job")
    (started,) = await queue.start("a", 1)
    assert await queue.finish([succeeded(started.lease)]) == {started.lease.run_id}
    assert (await queue.get(started.lease.run_id)).status is RunStatus.SUCCEEDED
