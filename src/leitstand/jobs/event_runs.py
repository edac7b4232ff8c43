"""Runs that events start: queued, given further events while they wait, moved with windows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.jobs.job import Job
from leitstand.jobs.queue import queries as queue_queries
from leitstand.jobs.run_change import RunChange, Tell
from leitstand.jobs.run_status import RunStatus
from leitstand.jobs.waiting_run import give_to_waiting
from leitstand.store.database import Connection, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)


@dataclass(frozen=True)
class HeldBack:
    """A queued run that windows may hold back; one ``of_event`` starts as soon as they let it."""

    job: Job
    run_id: int
    not_before: datetime
    of_event: bool


class EventRuns:
    """Always in the caller's transaction; ``tell`` hears of each run that is queued here."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    async def queue(
        self,
        connection: Connection,
        job: Job,
        event_of: Callable[[Mapping[str, Any] | None], Mapping[str, Any]],
        not_before: datetime | None,
    ) -> int:
        """Have a run of the job start after this moment for an event; returns its id.

        A run that waits already gets the event with what it had, whoever asked for it, and starts
        when it would have; ``event_of`` makes the one of both (None: nothing before). Else a run is
        queued, not to start before ``not_before``. In the caller's transaction.
        """
        while True:
            waiting = await give_to_waiting(connection, job.id, event_of)
            if waiting is not None:
                return waiting
            created = await self.create(connection, job, event_of(None), not_before)
            if created is not None:
                return created

    async def create(
        self,
        connection: Connection,
        job: Job,
        event: Mapping[str, Any],
        not_before: datetime | None,
    ) -> int | None:
        """Queue a run of the job for an event; None when another of an exclusive job waits."""
        row = await queries.create_event_run(
            connection,
            job_id=job.id,
            job=job.name,
            kind=job.kind,
            exclusive=job.exclusive,
            event=to_jsonb(event),
            not_before=not_before,
            priority=job.priority,
            group_name=job.group,
            runs_on=list(job.runs_on) or None,
        )
        if row is None:
            return None
        if job.runs_on:
            await queue_queries.notify_tasks(connection)
        created: int = row["id"]
        self._tell(RunChange(created, job.name, job.kind, 1, RunStatus.QUEUED))
        return created

    async def look_again(self, connection: Connection, limit: int, soon: float) -> list[HeldBack]:
        """Queued runs that windows may hold back; those of schedules if ``soon`` (seconds) due."""
        rows = queries.look_again_within(connection, max_rows=limit, soon=soon)
        return [
            HeldBack(Job.from_row(row), row["run_id"], row["not_before"], row["of_event"])
            async for row in rows
        ]

    async def move_start(self, connection: Connection, run_id: int, not_before: datetime) -> None:
        """Let a queued run start at another time."""
        await queries.move_start(connection, id=run_id, not_before=not_before)
