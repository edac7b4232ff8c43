"""Turns due jobs into queued runs, and records every occurrence that gets none."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from leitstand.errors import LeitstandError
from leitstand.jobs.job import Overlap
from leitstand.jobs.job_ledger import Advance, DueJob, JobLedger
from leitstand.jobs.misfire import Due, decide_due
from leitstand.jobs.non_run import NonRun, NonRunReason
from leitstand.jobs.queue import Queue
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.splay import splay_offset
from leitstand.store.database import Connection, Database

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Claimed:
    """What one pass did: due jobs handled, runs queued."""

    jobs: int
    runs: int


class Scheduler:
    """Claims due jobs. Any number of them may work on one database at the same time."""

    def __init__(
        self, database: Database, jobs: JobLedger, queue: Queue, late_tolerance: float
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._queue = queue
        self._late_tolerance = timedelta(seconds=late_tolerance)

    async def run_once(self, limit: int) -> Claimed:
        """Claim up to ``limit`` due jobs: queue their runs and advance their next times at once.

        One transaction: whatever dies here, an occurrence has both its run and the advanced time,
        or neither. A job whose schedule fails is set aside with its error and stops no other.
        """
        async with self._database.transaction() as connection:
            due = await self._jobs.due(connection, limit)
            runs = 0
            advances = []
            for job in due:
                advance, queued = await self._handle(connection, job)
                advances.append(advance)
                runs += queued
            if advances:
                await self._jobs.advance(connection, advances)
        return Claimed(jobs=len(due), runs=runs)

    async def _handle(self, connection: Connection, due: DueJob) -> tuple[Advance, int]:
        try:
            decision = self._decide(due)
        except LeitstandError as error:
            return await self._set_aside(connection, due, error.message), 0
        except Exception as error:  # a schedule may never stop the other jobs, whatever it does
            log.exception("a schedule failed unexpectedly", job=due.job.name)
            return await self._set_aside(connection, due, f"{type(error).__name__}: {error}"), 0
        queued = 0
        for planned in decision.run_at:
            queued += await self._queue_occurrence(connection, due, planned)
        skipped = await self._record_missed(connection, due, decision)
        return Advance(due.job.id, decision.next_at, skipped), queued

    def _decide(self, due: DueJob) -> Due:
        schedule = build_schedule(due.job.trigger, due.job.anchor)
        return decide_due(
            due.planned,
            due.now,
            schedule,
            due.job.misfire,
            self._late_tolerance,
            due.job.misfire_limit,
        )

    async def _queue_occurrence(
        self, connection: Connection, due: DueJob, planned: datetime
    ) -> int:
        blocked = blocking_run(due)
        offset = timedelta(seconds=splay_offset(due.job.name, due.job.splay))
        if blocked is None:
            not_before = planned + offset
            run = await self._queue.create_scheduled(connection, due.job, planned, not_before)
            if run is not None:
                return 1
            blocked = "a run for this time, or one that waits, exists already"
        non_run = NonRun(due.job.name, planned, NonRunReason.OVERLAP, blocked)
        await self._jobs.record_non_runs(connection, [(due.job.id, non_run)])
        log.info("occurrence skipped", job=due.job.name, planned=planned, reason=blocked)
        return 0

    async def _record_missed(self, connection: Connection, due: DueJob, decision: Due) -> int:
        if decision.missed is None or decision.missed.count == 0:
            return 0
        first = decision.first_missed or due.planned
        missed = decision.missed
        non_run = NonRun(
            due.job.name, first, NonRunReason.MISSED, decision.reason, missed.last, missed.count
        )
        await self._jobs.record_non_runs(connection, [(due.job.id, non_run)])
        log.warning(
            "occurrences missed",
            job=due.job.name,
            missed=missed.count,
            exact=missed.exact,
            next_run_at=decision.next_at,
        )
        return missed.count

    async def _set_aside(self, connection: Connection, due: DueJob, problem: str) -> Advance:
        log.error("schedule cannot be computed", job=due.job.name, error=problem)
        non_run = NonRun(due.job.name, due.planned, NonRunReason.SCHEDULE_ERROR, problem)
        await self._jobs.record_non_runs(connection, [(due.job.id, non_run)])
        return Advance(due.job.id, None, 0, problem)


def blocking_run(due: DueJob) -> str | None:
    """The sentence naming the active run that costs this occurrence its own; None: none does."""
    if not due.job.exclusive:
        return None
    if due.waiting_run is not None:
        return f"run {due.waiting_run} (attempt {due.waiting_attempt}) of the job is waiting"
    if due.running_run is not None and due.job.overlap is Overlap.SKIP:
        return f"run {due.running_run} of the job is still running"
    return None
