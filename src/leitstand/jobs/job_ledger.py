"""The ledger of jobs: the only code that reads and writes the tables jobs, job_groups, non_runs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from leitstand.errors import ConflictError, NotFoundError
from leitstand.events import EventQueue
from leitstand.execution import Kinds
from leitstand.jobs.dependencies import refuse_cycle
from leitstand.jobs.group import Group
from leitstand.jobs.job import Job, JobSpec
from leitstand.jobs.job_columns import columns_of, further_due
from leitstand.jobs.misfire import next_on_edit
from leitstand.jobs.non_run import NonRun, NonRunReason
from leitstand.jobs.schedule import build_schedule
from leitstand.nearest import no_such
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

CLAIM_LOCK = 0x4C53_000A
"""Advisory lock: claims share it, whoever changes windows has it alone."""

APPLY_LOCK = 0x4C53_0003
"""Advisory lock of whoever applies a file ("LS" and a number)."""


HISTORY_BATCH = 2000
"""Rows of the history that one statement takes from a job that is deleted: about 0.1 s."""


@dataclass(frozen=True)
class DueJob:
    """A job that is due, locked for this transaction, and what else is active of it."""

    job: Job
    planned: datetime
    now: datetime
    running_run: int | None
    waiting_run: int | None
    waiting_attempt: int | None

    def slot_of(self, time: datetime) -> datetime:
        """The slot that ``time`` stands for: of an occurrence that has waited, another one."""
        if time == self.planned and self.job.postponed_from is not None:
            return self.job.postponed_from
        return time


@dataclass(frozen=True)
class Advance:
    """What becomes of a due job's next time."""

    job_id: int
    next_run_at: datetime | None
    skipped: int = 0
    schedule_error: str | None = None
    postponed_from: datetime | None = None


async def look_again_at_postponed(
    connection: Connection, hosts: Collection[str] | None = None
) -> None:
    """Have the servers decide anew about occurrences that wait for a window, and wake them.

    To be called in the transaction that changes windows; with ``hosts`` only jobs bound to one of
    them are looked at. Waits for claims that go by the windows before: what they still postpone is
    looked at, too. Otherwise it would wait for the end of a window that is no more.
    """
    names = None if hosts is None else list(hosts)
    await queries.wait_for_claims(connection, lock=CLAIM_LOCK)
    await queries.look_again_at_postponed(connection, hosts=names)


async def no_such_job(connection: Connection, name: str) -> NotFoundError:
    """The error for the name of a job that does not exist, with the one that was meant."""
    names = [row["name"] async for row in queries.job_names(connection)]
    return no_such("job", name, names, "See `leitstand job list`.")


class JobLedger:
    """Jobs by name. Saving checks everything that can be checked before a run needs it.

    ``knows_event`` tells whether something produces events of a name; a job that waits for one that
    it does not know is no error, but is shown as such.
    """

    def __init__(
        self,
        database: Database,
        kinds: Kinds,
        knows_event: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._knows_event = knows_event
        self._events = EventQueue(database)

    async def save(self, spec: JobSpec, *, managed: bool = False) -> Job:
        """Create or replace the job of that name.

        The next time is the first one in the future: an edit never fires at once, and one that
        leaves trigger and state as they were keeps the planned time. Two saves of one job take
        turns; the later one stands. Raises UsageError for an unknown kind, wrong parameters, a
        schedule that cannot be, or a dependency cycle.
        """
        async with self._database.transaction() as connection:
            await self._refuse_cycle(connection, spec)
            await self.save_in(connection, spec, managed=managed)
            return await self._get(connection, spec.name)

    async def save_in(self, connection: Connection, spec: JobSpec, *, managed: bool) -> None:
        """``save`` in the caller's transaction; that no cycle is closed is the caller's affair."""
        self._kinds.check(spec.kind, spec.params)
        now = await self._now(connection)
        before = await queries.lock_job(connection, name=spec.name)
        if spec.group is not None:
            await queries.ensure_group(connection, name=spec.group)
        columns = columns_of(spec, before, now)
        await queries.save_job(connection, **columns, managed=managed)
        if before is not None:
            await self._follow_edit(connection, spec, before, columns, now)
        await queries.notify_changed(connection)

    async def _follow_edit(
        self,
        connection: Connection,
        spec: JobSpec,
        before: Mapping[str, Any],
        columns: Mapping[str, Any],
        now: datetime,
    ) -> None:
        """Take what waits along with an edit of its job, or record that it gets no run."""
        if columns["postponed_from"] is None:
            await self._drop_waiting(connection, before["id"], spec.name, before["postponed_from"])
        if columns["next_run_at"] != before["next_run_at"]:
            await self._drop_due(connection, before, now)
        if (spec.event, spec.deliver) != (before["event"], before["deliver"]):
            await self._events.forget_apart(connection, before["id"])
        await queries.take_along_waiting(connection, id=before["id"])

    async def get(self, name: str) -> Job:
        """The job of that name; raises NotFoundError."""
        async with self._database.connection() as connection:
            return await self._get(connection, name)

    async def list_all(self) -> list[Job]:
        """All jobs, ordered by name."""
        async with self._database.connection() as connection:
            return await self.list_in(connection)

    async def list_in(self, connection: Connection) -> list[Job]:
        """``list_all`` in the caller's transaction."""
        return [self._shown(row) async for row in queries.list_jobs(connection)]

    async def set_enabled(self, name: str, enabled: bool) -> Job:
        """Enable or disable; enabling plans the next time from now and does not run the past.

        Nothing changes for a job that is so already, unless its schedule could not be computed.
        """
        async with self._database.transaction() as connection:
            before = await queries.lock_job(connection, name=name)
            job = await self._get(connection, name)
            if job.enabled is enabled and job.schedule_error is None:
                return job
            now = await self._now(connection)
            next_run_at = None
            if enabled:
                next_run_at = next_on_edit(build_schedule(job.trigger, job.anchor), now)
            await queries.set_enabled(
                connection, id=job.id, enabled=enabled, next_run_at=next_run_at
            )
            await self._drop_waiting(connection, job.id, job.name, job.postponed_from)
            await self._drop_due(connection, before, now)
            await queries.notify_changed(connection)
            return await self._get(connection, name)

    async def delete(self, name: str) -> None:
        """Delete the job; its finished runs stay in the history and belong to no job then.

        A long history is taken from it in batches, each a short transaction. The job is disabled
        meanwhile, and stays so, with the newer part of its history, if that is cut off. Raises
        ConflictError while a run of it is queued or running.
        """
        while not await self._delete_step(name):
            pass

    async def _delete_step(self, name: str) -> bool:
        """Delete the job if one batch takes its history from it, else take the batch."""
        async with self._database.transaction() as connection:
            job = await self._idle(connection, name)
            if await self._detach(connection, job.id) < HISTORY_BATCH:
                await queries.delete_job(connection, id=job.id)
                return True
            await queries.stop_schedule(connection, id=job.id)
            return False

    async def delete_in(self, connection: Connection, name: str) -> None:
        """``delete`` in the caller's transaction, which a long history makes a long one."""
        job = await self._idle(connection, name)
        while await self._detach(connection, job.id) >= HISTORY_BATCH:
            pass
        await queries.delete_job(connection, id=job.id)

    async def _idle(self, connection: Connection, name: str) -> Job:
        """The job, locked, with no run queued or running; raises ConflictError."""
        await queries.lock_job(connection, name=name)
        job = await self._get(connection, name)
        active = await queries.active_run_of(connection, job_id=job.id)
        if active is not None:
            raise ConflictError(
                f"run {active['id']} of {name!r} is {active['status']}",
                remedy=f"Cancel it first: leitstand run cancel {active['id']}",
            )
        return job

    async def _detach(self, connection: Connection, job_id: int) -> int:
        row = await queries.detach_history(connection, id=job_id, batch=HISTORY_BATCH)
        detached: int = row["detached"]
        return detached

    async def list_groups(self) -> list[Group]:
        """All groups, ordered by name, with what runs and waits in them now."""
        async with self._database.connection() as connection:
            return await self.list_groups_in(connection)

    async def list_groups_in(self, connection: Connection) -> list[Group]:
        """``list_groups`` in the caller's transaction."""
        return [Group.from_row(row) async for row in queries.list_groups(connection)]

    async def set_group_limit(self, name: str, max_running: int) -> None:
        """How many runs of the group may run at once over all servers; at least 1.

        Runs that work already go on when the new limit is below their number.
        """
        async with self._database.connection() as connection:
            await self.set_group_limit_in(connection, name, max_running)

    async def set_group_limit_in(self, connection: Connection, name: str, max_running: int) -> None:
        """``set_group_limit`` in the caller's transaction."""
        await queries.set_group_limit(connection, name=name, max_running=max_running)
        await queries.notify_changed(connection)

    async def take_turn_to_apply(self, connection: Connection) -> None:
        """Wait until no other transaction applies a file; held to the end of this one."""
        await queries.take_turn_to_apply(connection, lock=APPLY_LOCK)

    async def non_runs(self, job: Job, at: datetime | None = None, limit: int = 50) -> list[NonRun]:
        """Occurrences without a run, newest first; with ``at`` only those that cover that time."""
        async with self._database.connection() as connection:
            rows = queries.list_non_runs(connection, job_id=job.id, at=at, max_rows=limit)
            return [NonRun.from_row(row) async for row in rows]

    async def due(self, connection: Connection, limit: int) -> list[DueJob]:
        """Lock up to ``limit`` due jobs in the caller's transaction; locked ones are left out.

        Windows that are read after this in the transaction hold until its end.
        """
        await queries.claim_begins(connection, lock=CLAIM_LOCK)
        rows = queries.due_jobs(connection, max_jobs=limit)
        return [_due_job(row) async for row in rows]

    async def listening(self, connection: Connection, names: Collection[str]) -> list[Job]:
        """Enabled jobs that an event of one of these names starts, ordered by name.

        None of them can be deleted until the caller's transaction has ended.
        """
        rows = queries.jobs_listening(connection, names=list(names))
        return [Job.from_row(row) async for row in rows]

    async def ready_for_each(self, connection: Connection) -> list[Job]:
        """Enabled jobs that take their events one at a time, and have no run now."""
        return [Job.from_row(row) async for row in queries.jobs_ready_for_each(connection)]

    async def listened_to(self) -> set[str]:
        """The names of the events that enabled jobs listen to."""
        async with self._database.connection() as connection:
            return {row["event"] async for row in queries.listened_to(connection)}

    async def advance(self, connection: Connection, advances: Sequence[Advance]) -> None:
        """Write the next times, in the caller's transaction."""
        documents = [
            {
                "id": advance.job_id,
                "next_run_at": advance.next_run_at,
                "postponed_from": advance.postponed_from,
                "skipped": advance.skipped,
                "schedule_error": advance.schedule_error,
            }
            for advance in advances
        ]
        await queries.advance_jobs(connection, advances=to_jsonb(documents))

    async def record_non_runs(
        self, connection: Connection, non_runs: Sequence[tuple[int, NonRun]]
    ) -> None:
        """Add rows (job id, non-run), in the caller's transaction."""
        documents = [{"job_id": job_id, **non_run.as_dict()} for job_id, non_run in non_runs]
        await queries.record_non_runs(connection, non_runs=to_jsonb(documents))

    async def record_postponed(self, connection: Connection, job_id: int, non_run: NonRun) -> None:
        """Record where a waiting occurrence was moved, once for all moves of it."""
        await queries.record_postponed(
            connection,
            job_id=job_id,
            job=non_run.job,
            scheduled_at=non_run.scheduled_at,
            detail=non_run.detail,
            until=non_run.until,
        )

    async def end_postponement(self, connection: Connection, job_id: int, slot: datetime) -> None:
        """Note that the occurrence of ``slot`` waits no longer."""
        await queries.end_postponement(connection, job_id=job_id, scheduled_at=slot)

    async def _drop_waiting(
        self, connection: Connection, job_id: int, name: str, slot: datetime | None
    ) -> None:
        """Record that the occurrence that waited for a window, if one did, gets no run."""
        if slot is not None:
            detail = "the job's schedule or state was changed while it waited for a window"
            await self.end_postponement(connection, job_id, slot)
            dropped = NonRun(name, slot, NonRunReason.SUPERSEDED, detail)
            await self.record_non_runs(connection, [(job_id, dropped)])

    async def _drop_due(
        self, connection: Connection, job: Mapping[str, Any], now: datetime
    ) -> None:
        """Record that what was due, and that no server had claimed yet, gets no run."""
        first = job["next_run_at"]
        if not job["enabled"] or job["postponed_from"] is not None or first is None or first > now:
            return
        detail = "the job's schedule or state was changed before a control server claimed it"
        further = further_due(job, first, now)
        until = now if further else None
        non_run = NonRun(job["name"], first, NonRunReason.SUPERSEDED, detail, until, 1 + further)
        await self.record_non_runs(connection, [(job["id"], non_run)])

    async def _get(self, connection: Connection, name: str) -> Job:
        row = await queries.get_job(connection, name=name)
        if row is None:
            raise await no_such_job(connection, name)
        return self._shown(row)

    def _shown(self, row: Mapping[str, Any]) -> Job:
        event = row["event"]
        unknown = event is not None and not self._knows_event(event)
        return replace(Job.from_row(row), unknown_event=unknown)

    async def _now(self, connection: Connection) -> datetime:
        row = await queries.database_now(connection)
        now: datetime = row["now"]
        return now

    async def _refuse_cycle(self, connection: Connection, spec: JobSpec) -> None:
        if not spec.depends_on:
            return
        # Two that are saved at once could close a cycle that neither of them sees.
        await self.take_turn_to_apply(connection)
        edges = {
            row["name"]: row["depends_on"] async for row in queries.dependency_edges(connection)
        }
        refuse_cycle(spec.name, spec.depends_on, edges)


def _due_job(row: Mapping[str, Any]) -> DueJob:
    return DueJob(
        job=Job.from_row(row),
        planned=row["next_run_at"],
        now=row["database_now"],
        running_run=row["running_run"],
        waiting_run=row["waiting_run"],
        waiting_attempt=row["waiting_attempt"],
    )
