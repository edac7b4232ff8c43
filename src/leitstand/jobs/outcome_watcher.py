"""Who wants to know how runs ended, in the same transaction that writes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

import psycopg
import structlog

from leitstand.jobs.run_change import RunChange
from leitstand.jobs.run_status import RunStatus
from leitstand.store.database import Connection

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class EndedRun:
    """A run whose end is being written; ``goes_on`` when a further attempt is queued."""

    id: int
    job: str
    kind: str
    status: RunStatus
    attempt: int
    scheduled_at: datetime
    error_code: str | None
    error_message: str | None
    correlation_id: UUID
    goes_on: bool = False

    @property
    def change(self) -> RunChange:
        """The end as news."""
        return RunChange(self.id, self.job, self.kind, self.attempt, self.status, self.error_code)


class OutcomeWatcher(Protocol):
    """Is told of every end that is written."""

    async def ended_in(self, connection: Connection, runs: Sequence[EndedRun]) -> None:
        """What it writes is committed with the outcomes, or not at all.

        Whatever it raises costs what it wrote, and not the outcomes.
        """


async def inform(watcher: OutcomeWatcher, connection: Connection, runs: Sequence[EndedRun]) -> None:
    """Tell ``watcher`` in a savepoint of the caller's transaction; its failure is logged.

    An operational error is raised: then the outcomes are not written either.
    """
    try:
        async with connection.transaction():
            await watcher.ended_in(connection, runs)
    except psycopg.OperationalError:
        raise
    except Exception:  # whoever is told may fail in any way; that the run has ended stands
        log.exception("nobody is told how runs ended", runs=[run.id for run in runs])
