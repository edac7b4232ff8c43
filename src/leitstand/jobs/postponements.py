"""Writes down which occurrences wait for a window, and what became of those that waited."""

import structlog

from leitstand.jobs.job_ledger import DueJob, JobLedger
from leitstand.jobs.non_run import NonRun, NonRunReason
from leitstand.jobs.placement import Merged, Placement, Waiting
from leitstand.store.database import Connection

log = structlog.get_logger(__name__)


class Postponements:
    """Rows and log lines about occurrences that maintenance windows have moved."""

    def __init__(self, jobs: JobLedger) -> None:
        self._jobs = jobs

    async def record(self, connection: Connection, due: DueJob, placement: Placement) -> None:
        """Record what ``placement`` decided about the job, in the caller's transaction."""
        before, waiting = due.job.postponed_from, placement.waiting
        if placement.unheeded is not None:
            self._complain(due, placement.unheeded.reason, "the planned time is kept")
        if before is not None and (waiting is None or waiting.slot != before):
            await self._jobs.end_postponement(connection, due.job.id, before)
        if placement.merged is not None:
            await self._record_merged(connection, due, placement.merged)
        if waiting is not None:
            await self._record_waiting(connection, due, waiting)

    async def _record_waiting(self, connection: Connection, due: DueJob, waiting: Waiting) -> None:
        reason = waiting.allowed.reason
        non_run = NonRun(due.job.name, waiting.slot, NonRunReason.POSTPONED, reason, waiting.until)
        await self._jobs.record_postponed(connection, due.job.id, non_run)
        if waiting.until is not None:
            log.info(
                "occurrence postponed",
                job=due.job.name,
                planned=waiting.slot,
                moved_to=waiting.until,
                reason=reason,
            )
        elif waiting.slot != due.job.postponed_from:
            self._complain(due, reason, "the occurrence waits for one")

    async def _record_merged(self, connection: Connection, due: DueJob, merged: Merged) -> None:
        detail = (
            f"part of the run for {due.job.postponed_from:%Y-%m-%d %H:%M:%S} UTC, which waited "
            f"for a window until {due.planned:%Y-%m-%d %H:%M:%S} UTC"
        )
        non_run = NonRun(
            due.job.name, merged.first, NonRunReason.SUPERSEDED, detail, merged.last, merged.count
        )
        await self._jobs.record_non_runs(connection, [(due.job.id, non_run)])
        log.info("occurrences merged", job=due.job.name, count=merged.count, reason=detail)

    def _complain(self, due: DueJob, reason: str, consequence: str) -> None:
        log.error(
            "no allowed moment",
            job=due.job.name,
            planned=due.slot_of(due.planned),
            reason=reason,
            consequence=consequence,
        )
