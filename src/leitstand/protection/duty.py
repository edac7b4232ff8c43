"""Creates the self-protection jobs once, and queues those that should not wait for their time."""

import asyncio

import psycopg
import structlog

from leitstand.errors import ConflictError, LeitstandError
from leitstand.jobs import Job, JobLedger, JobSpec, Queue
from leitstand.protection.next_steps import JobState, NextStep, next_steps
from leitstand.store.database import Connection, Database, load_queries

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

CREATED = "self-protection jobs created"

LOCK = 0x4C53_0002
"""Advisory lock of this duty ("LS" and a number)."""


class ProtectionDuty:
    """One per control server; any number may work on one database."""

    def __init__(
        self, database: Database, jobs: JobLedger, queue: Queue, specs: list[JobSpec], pause: float
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._queue = queue
        self._specs = specs
        self._pause = pause
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """A run has ended: look at once."""
        self._wake.set()

    async def create_jobs(self) -> None:
        """Create the jobs at the first start ever; later starts only bring them up to date.

        A job that somebody has deleted stays deleted, one that is disabled stays disabled.
        """
        async with self._database.connection() as connection:
            first = await queries.milestone(connection, name=CREATED) is None
        existing = {job.name: job for job in await self._jobs.list_all()}
        for spec in self._specs:
            job = existing.get(spec.name)
            if job is not None:
                current = spec.model_copy(update={"enabled": job.enabled})
                await self._jobs.save(current, managed=True)
            elif first:
                await self._jobs.save(spec, managed=True)
        if first:
            # Last, so that a start that was cut off is made up for by the next one.
            async with self._database.connection() as connection:
                await queries.reach_milestone(connection, name=CREATED)
            log.info("self-protection jobs created", jobs=[spec.name for spec in self._specs])

    async def run(self) -> None:
        """Look after each pause, and whenever a run has ended, until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self.run_once()
            except (LeitstandError, psycopg.Error) as error:
                log.warning("self-protection could not look", error=str(error).strip())
            try:
                async with asyncio.timeout(self._pause):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def run_once(self) -> list[NextStep]:
        """Queue what is due now; returns it. Does nothing while another server decides."""
        async with self._database.transaction() as connection:
            turn = await queries.take_turn(connection, lock=LOCK)
            if not turn["taken"]:
                return []
            steps = next_steps(await self._states())
            return [step for step in steps if await self._queue_step(connection, step)]

    async def _states(self) -> dict[str, JobState]:
        names = {spec.name for spec in self._specs}
        active = await self._queue.active_jobs()
        jobs = [job for job in await self._jobs.list_all() if job.name in names]
        return {job.name: _state(job, job.name in active) for job in jobs}

    async def _queue_step(self, connection: Connection, step: NextStep) -> bool:
        try:
            run = await self._queue.request_in(connection, step.job, by=step.by)
        except ConflictError:
            return False
        log.info("queued", job=step.job, run=run.id, reason=step.reason)
        return True


def _state(job: Job, active: bool) -> JobState:
    return JobState(job.enabled, active, job.last_run_at, job.last_outcome)
