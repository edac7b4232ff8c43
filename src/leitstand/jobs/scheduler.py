"""Turns due jobs into queued runs, and records every occurrence that gets none."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from leitstand.errors import LeitstandError
from leitstand.jobs.job import Overlap
from leitstand.jobs.job_ledger import Advance, DueJob, JobLedger
from leitstand.jobs.misfire import Due, decide_due
from leitstand.jobs.non_run import NonRun, NonRunReason
from leitstand.jobs.placement import Placement, Start, place
from leitstand.jobs.postponements import Postponements
from leitstand.jobs.queue import Queue
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.window import Window
from leitstand.jobs.window_source import WindowSource
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
        or neither. A job whose schedule fails is set aside with its error and stops no other.
        """
        async with self._database.transaction() as connection:
            due = await self._jobs.due(connection, limit)
            windows = await self._windows.windows_for([each.job for each in due], connection)
            runs = 0
            advances = []
            for job in due:
                advance, queued = await self._handle(connection, job, windows)
                advances.append(advance)
                runs += queued
            if advances:
                await self._jobs.advance(connection, advances)
        return Claimed(jobs=len(due), runs=runs)

    async def _handle(
        self, connection: Connection, due: DueJob, windows: Sequence[Window]
    ) -> tuple[Advance, int]:
        try:
            decision, placement = self._decide(due, windows)
        except LeitstandError as error:
            return await self._set_aside(connection, due, error.message), 0
        except Exception as error:  # a schedule may never stop the other jobs, whatever it does
            log.exception("a schedule failed unexpectedly", job=due.job.name)
            return await self._set_aside(connection, due, f"{type(error).__name__}: {error}"), 0
        queued = 0
        for start in placement.starts:
            queued += await self._queue_occurrence(connection, due, start)
        await self._postponements.record(connection, due, placement)
        skipped = await self._record_missed(connection, due, decision)
        waits = placement.waiting.slot if placement.waiting is not None else None
        return Advance(due.job.id, placement.next_at, skipped, postponed_from=waits), queued

    def _decide(self, due: DueJob, windows: Sequence[Window]) -> tuple[Due, Placement]:
        schedule = build_schedule(due.job.trigger, due.job.anchor)
        decision = decide_due(
            due.planned,
            due.now,
            schedule,
            due.job.misfire,
            self._late_tolerance,
            due.job.misfire_limit,
        )
        return decision, place(due, decision, schedule, windows)

    async def _queue_occurrence(self, connection: Connection, due: DueJob, start: Start) -> int:
        blocked = blocking_run(due)
        if blocked is None:
            run = await self._queue.create_scheduled(
                connection, due.job, start.slot, start.not_before
            )
            if run is not None:
                return 1
            blocked = "a run for this time, or one that waits, exists already"
        non_run = NonRun(due.job.name, start.slot, NonRunReason.OVERLAP, blocked)
        await self._jobs.record_non_runs(connection, [(due.job.id, non_run)])
        log.info("occurrence skipped", job=due.job.name, planned=start.slot, reason=blocked)
        return 0

    async def _record_missed(self, connection: Connection, due: DueJob, decision: Due) -> int:
        if decision.missed is None or decision.missed.count == 0:
            return 0
        missed = decision.missed
        first = due.slot_of(decision.first_missed or due.planned)
        last = due.slot_of(missed.last)
        non_run = NonRun(
            due.job.name, first, NonRunReason.MISSED, decision.reason, last, missed.count
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
