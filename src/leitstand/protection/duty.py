"""Sees that the self-protection jobs exist, and queues those that should not wait."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
import structlog

from leitstand.errors import ConflictError, LeitstandError
from leitstand.jobs import Job, JobLedger, JobSpec, Queue
from leitstand.protection.next_steps import Evidence, JobState, NextStep, next_steps
from leitstand.protection.own_jobs import create_own_jobs
from leitstand.store.database import Connection, Database, load_queries

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

LOCK = 0x4C53_0002
"""Advisory lock of this duty ("LS" and a number)."""


@dataclass(frozen=True)
class ProtectedJobs:
    """The self-protection jobs as they should be, and the ledgers that hold them."""

    jobs: JobLedger
    queue: Queue
    specs: list[JobSpec]

    async def states(self) -> dict[str, JobState]:
        """What is known of each of them that exists."""
        names = {spec.name for spec in self.specs}
        active = await self.queue.active_jobs()
        jobs = [job for job in await self.jobs.list_all() if job.name in names]
        return {job.name: _state(job, job.name in active) for job in jobs}


class ProtectionDuty:
    """One per control server; any number may work on one database.

    ``look`` tells what the backup directory holds; it may block for a moment.
    """

    def __init__(
        self,
        database: Database,
        protected: ProtectedJobs,
        look: Callable[[], Evidence],
        pause: float,
    ) -> None:
        self._database = database
        self._protected = protected
        self._look = look
        self._pause = pause
        self._wake = asyncio.Event()
        self._started: set[str] = set()

    def wake(self) -> None:
        """A run has ended: look at once."""
        self._wake.set()

    async def create_jobs(self) -> None:
        """Create the jobs that are missing and bring the others up to date.

        One that is disabled stays disabled: that, and not deleting it, is how to do without it.
        """
        await create_own_jobs(self._protected.jobs, self._protected.specs)

    async def run(self) -> None:
        """Look after each pause, and whenever a run has ended, until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self.run_once()
            except (LeitstandError, psycopg.Error, OSError) as error:
                log.warning("self-protection could not look", error=str(error).strip())
            try:
                async with asyncio.timeout(self._pause):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def run_once(self) -> list[NextStep]:
        """Queue what is due now; returns it. Does nothing while another server decides.

        What the directory asks for is started once in the life of a server: if a backup succeeds
        and none is found there, doing it again would not help.
        """
        evidence = await asyncio.to_thread(self._look)
        async with self._database.transaction() as connection:
            turn = await queries.take_turn(connection, lock=LOCK)
            if not turn["taken"]:
                return []
            steps = next_steps(await self._protected.states(), evidence)
            fresh = [step for step in steps if step.job not in self._started]
            queued = [step for step in fresh if await self._queue_step(connection, step)]
        self._started.update(step.job for step in queued if step.by == "startup")
        return queued

    async def _queue_step(self, connection: Connection, step: NextStep) -> bool:
        try:
            run = await self._protected.queue.request_in(connection, step.job, by=step.by)
        except ConflictError:
            return False
        log.info("queued", job=step.job, run=run.id, reason=step.reason)
        return True


def _state(job: Job, active: bool) -> JobState:
    return JobState(job.enabled, active, job.last_run_at, job.last_outcome)
