"""The kind ``prune-history``: removes old runs, so that the database does not grow for ever."""

from typing import ClassVar

from pydantic import Field

from leitstand.display import counted
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts
from leitstand.jobs.queue import Queue

DAY = 86400.0


class PruneHistoryParams(Params):
    """How long ended runs are kept, in days; None: as the settings say (``history.keep_days``)."""

    keep_days: float | None = Field(default=None, gt=0)


class PruneHistory:
    """Removes what ended long ago, but never the newest run of a job."""

    kind: ClassVar[str] = "prune-history"
    params: ClassVar[type[Params]] = PruneHistoryParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(self, queue: Queue, keep_days: float) -> None:
        self._queue = queue
        self._keep_days = keep_days

    async def execute(
        self, params: PruneHistoryParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Remove in batches, so that no statement holds its locks for long."""
        keep_days = params.keep_days or self._keep_days
        removed = 0
        while batch := await self._queue.prune(keep_days * DAY):
            removed += batch
            reporter.progress(message=f"{counted(removed, 'row')} removed")
        rows = counted(removed, "row")
        reporter.log(f"removed {rows} that ended more than {keep_days:g} days ago")
        return Result(objects_processed=removed, result={"removed": removed})
