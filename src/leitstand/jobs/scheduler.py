"""Turns due jobs into queued runs, and records every occurrence that gets none."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from leitstand.errors import LeitstandError
from leitstand.jobs.claim_plan import ClaimPlan, SetAside, blocking_run
from leitstand.jobs.job_ledger import DueJob, JobLedger
from leitstand.jobs.misfire import decide_due
from leitstand.jobs.non_run import NonRun, NonRunReason
from leitstand.jobs.occurrence import Slot
from leitstand.jobs.placement import place
from leitstand.jobs.postponements import Postponements
from leitstand.jobs.queue import Queue
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.window import Window
from leitstand.jobs.window_source import WindowSource
from leitstand.store.database import Connection, Database

log = structlog.get_logger(__name__)


DECIDING = 0.25
"""Seconds after which no further job is decided about in a claim: its transaction has a deadline,
and to count what a long outage has missed takes a moment for each job."""


@dataclass(frozen=True)
class Claimed:
    """What one claim did: due jobs handled, runs queued; ``more`` may be due."""

    jobs: int
    runs: int
    more: bool


class Scheduler:
    """Claims due jobs. Any number of them may work on one database at the same time."""

    def __init__(
        self,
        database: Database,
        jobs: JobLedger,
        queue: Queue,
        windows: WindowSource,
        late_tolerance: float,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._queue = queue
        self._windows = windows
        self._postponements = Postponements(jobs)
        self._late_tolerance = timedelta(seconds=late_tolerance)

    async def run_once(self, limit: int) -> Claimed:
        """Claim up to ``limit`` due jobs: queue their runs and advance their next times at once.

        One transaction: whatever dies here, an occurrence has both its run and the advanced time,
        or neither. A job whose schedule fails is set aside with its error and stops no other. The
        statements do not grow with the jobs, but for those that windows move, and after
        ``DECIDING`` the others are left for the next claim: the transaction is short, and with it
        the time for which others are kept from these jobs.
        """
        async with self._database.transaction() as connection:
            due = await self._jobs.due(connection, limit)
            if not due:
                return Claimed(jobs=0, runs=0, more=False)
            windows = await self._windows.windows_for([each.job for each in due], connection)
            decided = self._decided_in_time(due, windows)
            plans = [each for each in decided if isinstance(each, ClaimPlan)]
            queued = await self._queue_starts(connection, plans)
            for plan in plans:
                await self._postponements.record(connection, plan.due, plan.placement)
            await self._record(connection, decided, queued)
            await self._jobs.advance(connection, [each.advance for each in decided])
        more = len(due) == limit or len(decided) < len(due)
        return Claimed(len(decided), len(queued), more)

    def _decided_in_time(
        self, due: Sequence[DueJob], windows: Sequence[Window]
    ) -> list[ClaimPlan | SetAside]:
        """What becomes of these jobs: of the first, and of those that the time is enough for."""
        decided: list[ClaimPlan | SetAside] = []
        until = time.monotonic() + DECIDING
        for each in due:
            if decided and time.monotonic() > until:
                break
            decided.append(self._decided(each, windows))
        return decided

    def _decided(self, due: DueJob, windows: Sequence[Window]) -> ClaimPlan | SetAside:
        try:
            return self._planned(due, windows)
        except LeitstandError as error:
            problem = error.message
        except Exception as error:  # a schedule may never stop the other jobs, whatever it does
            log.exception("a schedule failed unexpectedly", job=due.job.name)
            problem = f"{type(error).__name__}: {error}"
        return SetAside(due, problem)

    def _planned(self, due: DueJob, windows: Sequence[Window]) -> ClaimPlan:
        schedule = build_schedule(due.job.trigger, due.job.anchor)
        decision = decide_due(
            due.planned,
            due.now,
            schedule,
            due.job.misfire,
            self._late_tolerance,
            due.job.misfire_limit,
        )
        return ClaimPlan(due, decision, place(due, decision, schedule, windows))

    async def _queue_starts(self, connection: Connection, plans: Sequence[ClaimPlan]) -> set[Slot]:
        starting = [
            each for plan in plans if not blocking_run(plan.due) for each in plan.occurrences
        ]
        return await self._queue.create_scheduled(connection, starting) if starting else set()

    async def _record(
        self,
        connection: Connection,
        decided: Sequence[ClaimPlan | SetAside],
        queued: Collection[Slot],
    ) -> None:
        """Write down and log which occurrences got no run."""
        rows: list[tuple[int, NonRun]] = []
        for each in decided:
            non_runs = each.non_runs(queued)
            _tell(each.due, non_runs, each.advance.next_run_at)
            rows += [(each.due.job.id, non_run) for non_run in non_runs]
        if rows:
            await self._jobs.record_non_runs(connection, rows)


def _tell(due: DueJob, non_runs: Sequence[NonRun], next_run_at: datetime | None) -> None:
    """Log which occurrences of a job got no run."""
    for each in non_runs:
        told = log.bind(job=due.job.name, planned=each.scheduled_at, reason=each.detail)
        if each.reason is NonRunReason.OVERLAP:
            told.info("occurrence skipped")
        elif each.reason is NonRunReason.MISSED:
            told.warning("occurrences missed", missed=each.count, next_run_at=next_run_at)
        else:
            told.error("schedule cannot be computed")
