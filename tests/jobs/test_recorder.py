"""A server ends while neither the database nor the disk takes its results."""

from pathlib import Path

from leitstand.execution import Lease
from leitstand.jobs import RunStatus
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.recorder import Recorder
from leitstand.jobs.spool import Spool
from tests.jobs.scene import Scene


async def test_results_that_can_be_written_nowhere_are_counted(
    scene: Scene, tmp_path: Path
) -> None:
    """It ends all the same, and says how many runs it leaves to their leases."""
    (tmp_path / "file").touch()
    spool = Spool(tmp_path / "file" / "spool")
    recorder = Recorder(scene.queue, spool, lambda *_: None)
    for run in (1, 2):
        recorder.add(FinishedRun(Lease(run, 1), Outcome(RunStatus.SUCCEEDED, None, None, None)))
    assert await recorder.settle(0.01) == 2
