"""Ends runs whose server or agent has died, so that they are retried or reported, not forgotten."""

import random

import psycopg
import structlog

from leitstand.errors import FailureClass
from leitstand.execution import Lease
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import Outcome
from leitstand.jobs.queue import Queue, StaleRun
from leitstand.jobs.retry import RetryPolicy, decide
from leitstand.jobs.run import Run
from leitstand.jobs.run_status import RunStatus
from leitstand.store.database import Connection, Database

log = structlog.get_logger(__name__)


class Rescuer:
    """Releases stale leases. Any number may work at once: each run is released by one of them."""

    def __init__(
        self, database: Database, queue: Queue, stale_after: float, *, of_agents: bool = False
    ) -> None:
        self._database = database
        self._queue = queue
        self._stale_after = stale_after
        self._of_agents = of_agents

    async def run_once(self) -> list[Run]:
        """Release the runs whose heartbeat is older than the stale timeout; returns them.

        Each ends as ``failed``, ``LEASE_EXPIRED``, transient (or cancelled, if that was asked
        for) and is retried by its job's policy. One that cannot be written stops no other.
        """
        async with self._database.transaction() as connection:
            stale = await self._queue.stale(
                connection, self._stale_after, of_agents=self._of_agents
            )
            released = [s.run for s in stale if await self._release(connection, s)]
        if released:
            log.warning(
                f"released runs of {'agents' if self._of_agents else 'servers'} that fell silent",
                count=len(released),
                runs=[run.id for run in released],
                owners=sorted({str(run.owner) for run in released}),
            )
        return released

    async def _release(self, connection: Connection, stale: StaleRun) -> bool:
        try:
            async with connection.transaction():
                await self._queue.finish_in(connection, [ended_by_silence(stale, random.random())])  # noqa: S311 -- jitter
        except psycopg.errors.OperationalError:
            raise
        except Exception:  # whatever is wrong with one of them, the others are released
            log.exception("a stale run could not be released", run=stale.run.id)
            return False
        return True


def ended_by_silence(stale: StaleRun, jitter: float) -> FinishedRun:
    """What becomes of a run that was lost with its owner; ``jitter`` is 0 to 1."""
    run = stale.run
    owner = f"the {'agent' if run.runs_on else 'control server'} {run.owner}"
    lease = Lease(run.id, run.fencing_token or 0)
    if run.cancel_requested_at is not None:
        message = f"cancelled; {owner} was lost before it could confirm"
        return FinishedRun(lease, Outcome(RunStatus.CANCELLED, "CANCELLED", message, None))
    message = f"{owner} was lost while it ran this"
    outcome = Outcome(RunStatus.FAILED, "LEASE_EXPIRED", message, FailureClass.TRANSIENT)
    policy = RetryPolicy(max_attempts=stale.max_attempts, base=stale.backoff)
    decision = decide(stale.failures_before + 1, FailureClass.TRANSIENT, policy, jitter)
    return FinishedRun(
        lease,
        outcome,
        retry_delay=decision.delay if decision.retry else None,
        no_retry_reason=None if decision.retry else decision.reason,
    )
