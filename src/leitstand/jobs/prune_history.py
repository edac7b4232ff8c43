"""The kind ``prune-history``: removes what ended long ago; no table grows for ever."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from pydantic import Field

from leitstand.display import counted
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts

DAY = 86400.0


class Prunable(Protocol):
    """A ledger that keeps what has ended for a time."""

    async def prune(self, older_than: float) -> int:
        """Delete one batch of what ended more than ``older_than`` seconds ago; how many."""


class PruneHistoryParams(Params):
    """How long ended runs are kept, in days; None: as the settings say (``history.keep_days``)."""

    keep_days: float | None = Field(default=None, gt=0)


class PruneHistory:
    """Removes what ended long ago from each of the ledgers, but never the newest run of a job."""

    kind: ClassVar[str] = "prune-history"
    params: ClassVar[type[Params]] = PruneHistoryParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(self, ledgers: Sequence[Prunable], keep_days: float) -> None:
        self._ledgers = ledgers
        self._keep_days = keep_days

    async def execute(
        self, params: PruneHistoryParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Remove in batches, so that no statement holds its locks for long."""
        keep_days = params.keep_days or self._keep_days
        removed = 0
        for ledger in self._ledgers:
            while batch := await ledger.prune(keep_days * DAY):
                removed += batch
                reporter.progress(message=f"{counted(removed, 'row')} removed")
        rows = counted(removed, "row")
        reporter.log(f"removed {rows} that ended more than {keep_days:g} days ago")
        return Result(objects_processed=removed, result={"removed": removed})
