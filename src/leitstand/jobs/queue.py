"""The ledger of runs, their logs and late results: all but what events and agents need.

Every write on behalf of a run's owner carries the fencing token and changes nothing when the
token is no longer the current one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import structlog
from psycopg.errors import UniqueViolation

from leitstand.errors import ConflictError, NotFoundError
from leitstand.events import EventQueue, outcome_event
from leitstand.execution import Lease
from leitstand.jobs.dependencies import DependencyOutcome
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.further_attempts import queue_further
from leitstand.jobs.job_ledger import no_such_job
from leitstand.jobs.occurrence import Occurrence, Slot
from leitstand.jobs.outcome_watcher import EndedRun, OutcomeWatcher, inform
from leitstand.jobs.run import Run, StartedRun
from leitstand.jobs.run_change import RunChange, Tell, tell_nobody
from leitstand.jobs.run_status import RunStatus
from leitstand.jobs.waiting_run import cancel_waiting
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import to_jsonb

log = structlog.get_logger(__name__)
queries = load_queries(__file__)

CHANNEL = "leitstand_jobs"
"""NOTIFY channel; payloads: ``queued``, ``tasks``, ``jobs``, ``events``, ``cancel:RUN`` and
``drain:INSTANCE``."""


@dataclass(frozen=True)
class StaleRun:
    """A running run whose owner has been silent too long, locked for this transaction."""

    run: Run
    failures_before: int
    max_attempts: int
    backoff: float


@dataclass(frozen=True)
class LogEntry:
    """A piece of a run's log: one or more lines."""

    id: int
    logged_at: datetime
    text: str


class Queue:
    """Runs: created, claimed, vouched for, finished, looked at.

    ``tell`` hears of every change of a run's status that is made here; what ``watcher`` makes of
    the end of a run is in the transaction that writes it.
    """

    def __init__(
        self,
        database: Database,
        tell: Tell = tell_nobody,
        watcher: OutcomeWatcher | None = None,
    ) -> None:
        self._database = database
        self.tell = tell
        self._watcher = watcher
        self._events = EventQueue(database)

    @property
    def database(self) -> Database:
        """Where the runs are."""
        return self._database

    def over(self, database: Database) -> "Queue":
        """The same queue, over connections of its own."""
        return Queue(database, self.tell, self._watcher)

    # -- creating -----------------------------------------------------------------------------

    async def create_scheduled(
        self, connection: Connection, occurrences: Sequence[Occurrence]
    ) -> set[Slot]:
        """Queue the runs of occurrences in the caller's transaction; returns whose were queued.

        An occurrence that has its run already gets none, nor does one of an exclusive job of which
        another run is waiting, also one of those that come before it here.
        """
        documents = [occurrence.as_document() for occurrence in occurrences]
        rows = queries.create_scheduled_runs(connection, runs=to_jsonb(documents))
        created = [row async for row in rows]
        for row in created:
            self.tell(RunChange.of(row, RunStatus.QUEUED))
        if any(row["runs_on"] for row in created):
            await queries.notify_tasks(connection)
        return {(row["job_id"], row["scheduled_at"].astimezone(UTC)) for row in created}

    async def request(self, job: str, user: str | None = None, by: str = "user") -> Run:
        """Queue a run of the job now and wake the servers; consumes no occurrence.

        Raises NotFoundError for an unknown job, ConflictError when a run of it is waiting
        already (one that is running is no obstacle).
        """
        async with self._database.transaction() as connection:
            return await self.request_in(connection, job, user, by)

    async def request_in(
        self, connection: Connection, job: str, user: str | None = None, by: str = "user"
    ) -> Run:
        """As ``request``, in the caller's transaction."""
        while True:
            row = await queries.create_requested_run(
                connection, job=job, trigger_user=user, trigger_by=by
            )
            if row is not None:
                return self._told(Run.from_row(row))
            waiting = await queries.waiting_run(connection, job=job)
            if waiting is not None:
                raise ConflictError(
                    f"run {waiting['id']} of {job!r} is waiting already",
                    remedy=f"Wait for it, or cancel it: leitstand run cancel {waiting['id']}",
                )
            if await queries.job_exists(connection, job=job) is None:
                raise await no_such_job(connection, job)
            # The one that waited has been started between the two questions: once again.

    async def retry(self, run_id: int, user: str | None = None) -> Run:
        """Queue a further attempt, now, of a run that ended without success.

        Raises ConflictError for one that succeeded or has not ended, for a job that is gone, and
        when another run of it is waiting already.
        """
        async with self._database.transaction() as connection:
            row = await queries.retry_run(connection, id=run_id, who=user)
        if row is not None:
            return self._told(Run.from_row(row))
        raise _not_retried(await self.get(run_id))

    # -- claiming and finishing ---------------------------------------------------------------

    async def start(self, owner: str, slots: int) -> list[StartedRun]:
        """Claim up to ``slots`` queued runs for ``owner``, within priorities and group limits.

        A run is claimed by exactly one of any number of callers. Losing a race is normal and
        gives fewer runs, or none.
        """
        try:
            async with self._database.pipelined_transaction() as connection:
                await connection.execute(queries.plan_for_queues.sql)
                await connection.execute(queries.lock_groups.sql)
                rows = queries.start_runs(connection, owner=owner, slots=slots)
                started = [StartedRun.from_row(row) async for row in rows]
        except UniqueViolation:
            log.debug("lost the race for a run", owner=owner)
            return []
        for run in started:
            self.tell(RunChange.started(run))
        return sorted(started, key=lambda run: run.order)

    async def stale(
        self, connection: Connection, stale_after: float, *, of_agents: bool
    ) -> list[StaleRun]:
        """Lock runs without a heartbeat for ``stale_after`` seconds, by the database's clock."""
        rows = queries.stale_runs(connection, stale=stale_after, of_agents=of_agents)
        return [
            StaleRun(
                Run.from_row(row),
                row["failures_before"],
                row["job_max_attempts"],
                row["job_backoff"],
            )
            async for row in rows
        ]

    async def finish(self, finished: Sequence[FinishedRun]) -> set[int]:
        """Write outcomes and queue retries in one transaction; returns the ids that were written.

        For the others the lease was lost: their results are stored beside the run.
        """
        async with self._database.pipelined_transaction() as connection:
            return await self.finish_in(connection, finished)

    async def finish_in(self, connection: Connection, finished: Sequence[FinishedRun]) -> set[int]:
        """As ``finish``, in the caller's transaction."""
        documents = [f.as_document() for f in finished]
        await connection.execute(queries.plan_for_queues.sql)
        rows = queries.finish_runs(connection, outcomes=to_jsonb(documents))
        ended = {row["id"]: row async for row in rows}
        written = set(ended)
        news = [
            _ended(each, ended[each.lease.run_id])
            for each in finished
            if each.lease.run_id in written
        ]
        for run in news:
            self.tell(run.change)
        going_on = await self._queue_retries(connection, finished, written)
        if self._watcher is not None and news:
            told = [replace(run, goes_on=run.correlation_id in going_on) for run in news]
            await inform(self._watcher, connection, told)
        await self._announce_ends(connection, sorted(written))
        late = [document for document in documents if document["id"] not in written]
        if late:
            await queries.store_late_results(connection, outcomes=to_jsonb(late))
            log.warning(
                "lost lease: results stored beside their runs", runs=[d["id"] for d in late]
            )
        return written

    async def _queue_retries(
        self, connection: Connection, finished: Sequence[FinishedRun], written: set[int]
    ) -> set[UUID]:
        """Queue what follows; the correlation ids of those that have a next attempt."""
        retried = [
            f.lease.run_id
            for f in finished
            if f.retry_delay is not None and f.lease.run_id in written
        ]
        return await queue_further(connection, retried, self.tell)

    async def _announce_ends(self, connection: Connection, written: Sequence[int]) -> None:
        """Store the events that these ends are, in the transaction that writes them."""
        rows = queries.outcomes_listened_to(connection, ids=list(written))
        events = [outcome_event(row) async for row in rows]
        if events:
            await self._events.emit_in(connection, events)
        await connection.execute(queries.wake_for_next_event.sql, {"ids": list(written)})

    async def next_wake(self) -> float | None:
        """Seconds until something planned is due, by the database's clock; None: nothing is."""
        async with self._database.connection() as connection:
            row = await queries.next_wake(connection)
        seconds: float | None = row["seconds"]
        return seconds

    # -- while it runs ------------------------------------------------------------------------

    async def append_logs(self, entries: Sequence[tuple[Lease, str]]) -> None:
        """Add to the logs of running runs; nothing is added for a lost lease."""
        documents = [
            {"id": lease.run_id, "token": lease.fencing_token, "text": text}
            for lease, text in entries
        ]
        async with self._database.connection() as connection:
            await queries.append_logs(connection, logs=to_jsonb(documents))

    async def set_progress(self, entries: Sequence[tuple[Lease, float | None, str | None]]) -> None:
        """Replace the progress of running runs; nothing is written for a lost lease."""
        documents = [
            {
                "id": lease.run_id,
                "token": lease.fencing_token,
                "percent": percent,
                "message": message,
            }
            for lease, percent, message in entries
        ]
        async with self._database.connection() as connection:
            await queries.set_progress(connection, progress=to_jsonb(documents))

    async def dependency_outcomes(self, names: Sequence[str]) -> list[DependencyOutcome]:
        """What the last ended run of each named job came to."""
        async with self._database.connection() as connection:
            rows = queries.dependency_outcomes(connection, names=list(names))
            return [
                DependencyOutcome(
                    row["name"],
                    row["exists_now"],
                    RunStatus(row["status"]) if row["status"] else None,
                )
                async for row in rows
            ]

    async def cancel(self, run_id: int, user: str | None = None) -> Run:
        """Cancel a queued run at once, or ask the owner of a running one to stop it.

        Events that a queued one was given beside those it was queued for have another run.
        The request is accepted also when the owner is dead: the run then ends as cancelled when
        its lease is released. Raises ConflictError for a final run.
        """
        async with self._database.transaction() as connection:
            row = await cancel_waiting(connection, run_id, user, self.tell)
            asked = row or await queries.request_cancel(connection, id=run_id, who=user)
            if row is not None:
                await connection.execute(queries.wake_for_next_event.sql, {"ids": [run_id]})
        if row is not None:
            return self._told(Run.from_row(row))
        if asked is not None:
            return Run.from_row(asked)
        run = await self.get(run_id)
        raise ConflictError(
            f"run {run_id} has ended already: {run.status.value}",
            remedy=f"Nothing is left to cancel; see `leitstand run show {run_id}`.",
        )

    def _told(self, run: Run) -> Run:
        """The run, after others were told how it is now."""
        self.tell(RunChange(run.id, run.job, run.kind, run.attempt, run.status, run.error_code))
        return run

    # -- looking ------------------------------------------------------------------------------

    async def get(self, run_id: int) -> Run:
        """The run; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.get_run(connection, id=run_id)
        if row is None:
            raise NotFoundError(f"there is no run {run_id}", remedy="See `leitstand run list`.")
        return Run.from_row(row)

    async def list_runs(
        self,
        job: str | None = None,
        status: RunStatus | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[Run]:
        """Runs, newest first; ``before`` is the id that the page ends above."""
        async with self._database.connection() as connection:
            rows = queries.list_runs(
                connection, job=job, status=status, before=before, max_rows=limit
            )
            return [Run.from_row(row) async for row in rows]

    async def runs_at(self, job: str, at: datetime, limit: int = 20) -> list[Run]:
        """Runs of the job between whose planned time and end ``at`` lies, newest first."""
        async with self._database.connection() as connection:
            rows = queries.runs_at(connection, job=job, at=at, max_rows=limit)
            return [Run.from_row(row) async for row in rows]

    async def logs(self, run_id: int, after: int = 0) -> list[LogEntry]:
        """Up to 500 pieces of the run's log that follow piece ``after``, in order."""
        async with self._database.connection() as connection:
            rows = queries.read_logs(connection, run_id=run_id, after=after)
            return [LogEntry(row["id"], row["logged_at"], row["text"]) async for row in rows]

    async def late_results(self, run_id: int) -> list[Mapping[str, Any]]:
        """Results that came after their lease was lost."""
        async with self._database.connection() as connection:
            rows = queries.late_results_of(connection, run_id=run_id)
            return [row async for row in rows]

    async def active_counts(self) -> dict[str, int]:
        """How many runs are queued and running."""
        async with self._database.connection() as connection:
            rows = queries.count_by_status(connection)
            counts = {row["status"]: row["runs"] async for row in rows}
        return {"queued": 0, "running": 0, **counts}

    async def readable(self) -> None:
        """Really read the queue; raises what the database raises."""
        await self.active_counts()

    async def active_jobs(self) -> set[str]:
        """The names of the jobs that have a queued or running run."""
        async with self._database.connection() as connection:
            return {row["job"] async for row in queries.active_jobs(connection)}

    # -- history ------------------------------------------------------------------------------

    async def prune(self, older_than: float, batch: int = 1000) -> int:
        """Delete one batch of what ended more than ``older_than`` seconds ago; returns the count.

        The newest run of each job stays. Short transactions: call it until it returns 0.
        """
        async with self._database.transaction(deadline=30) as connection:
            await connection.execute(queries.plan_for_queues.sql)
            runs = await queries.prune_runs(connection, older_than=older_than, batch=batch)
            rows = await queries.prune_non_runs(connection, older_than=older_than, batch=batch)
        count: int = runs["gone"] + rows["gone"]
        return count


def _ended(finished: FinishedRun, row: Mapping[str, Any]) -> EndedRun:
    outcome = finished.outcome
    return EndedRun(
        id=row["id"],
        job=row["job"],
        kind=row["kind"],
        status=outcome.status,
        attempt=row["attempt"],
        scheduled_at=row["scheduled_at"],
        error_code=outcome.error_code,
        error_message=outcome.error_message,
        correlation_id=row["correlation_id"],
    )


def _not_retried(run: Run) -> ConflictError:
    """Why the run gets no further attempt, and what to do instead."""
    if not run.status.is_final:
        return ConflictError(
            f"run {run.id} is {run.status.value}; only runs that have ended are retried",
            remedy=f"Wait for its end, or cancel it: leitstand run cancel {run.id}",
        )
    if run.job_id is None:
        return ConflictError(
            f"the job of run {run.id} no longer exists", remedy="Create the job anew and run it."
        )
    if run.status is RunStatus.SUCCEEDED:
        return ConflictError(
            f"run {run.id} succeeded; a retry is for what did not",
            remedy=f"To do the work once more: leitstand job run {run.job}",
        )
    return ConflictError(
        f"another run of {run.job!r} is waiting already",
        remedy=f"It does the same. See `leitstand run list --job {run.job}`.",
    )
