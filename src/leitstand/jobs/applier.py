"""Makes the database agree with a file, in one transaction or not at all."""

from collections.abc import Iterator
from dataclasses import replace

from pydantic import BaseModel

from leitstand.jobs.apply_plan import Action, Change, Claims, Inventory, Plan, Stored, plan_changes
from leitstand.jobs.dependencies import find_cycles
from leitstand.jobs.group import GroupSpec
from leitstand.jobs.job import JobSpec
from leitstand.jobs.job_file import JobFileError, Thing, Written, spec_of_window
from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.window_ledger import WindowLedger
from leitstand.jobs.window_spec import WindowSpec
from leitstand.store.database import Connection, Database

DEADLINE = 120.0
"""Seconds for a whole file; a thousand new jobs take about five."""


class Applier:
    """Shows and carries out what a file changes. Two appliers on one database take turns."""

    def __init__(self, database: Database, jobs: JobLedger, windows: WindowLedger) -> None:
        self._database = database
        self._jobs = jobs
        self._windows = windows

    async def preview(
        self, written: Written, *, prune: bool = False, claims: Claims | None = None
    ) -> Plan:
        """What ``apply`` would do now; raises what it would raise, writes nothing."""
        async with self._database.transaction(DEADLINE) as connection:
            return await self._plan(connection, written, prune, claims or {})

    async def apply(
        self,
        written: Written,
        *,
        prune: bool = False,
        claims: Claims | None = None,
        keep_switched: bool = False,
    ) -> Plan:
        """Do what ``plan_changes`` decides and return it; on any error nothing has changed.

        With ``keep_switched`` a job stays enabled or disabled as it is, unless the file says
        which. Raises JobFileError for a dependency cycle and for a change to what somebody else
        claims, ConflictError when a job that is to be
        removed has an active run. A job that is saved by others meanwhile waits for the end.
        """
        async with self._database.transaction(DEADLINE) as connection:
            await self._jobs.take_turn_to_apply(connection)
            if keep_switched:
                written = as_switched(written, await self._inventory(connection))
            plan = await self._plan(connection, written, prune, claims or {})
            for change in plan.differences:
                await self._carry_out(connection, change)
            return plan

    async def _plan(
        self, connection: Connection, written: Written, prune: bool, claims: Claims
    ) -> Plan:
        stored = await self._inventory(connection)
        plan = plan_changes(written, stored, prune=prune, claims=claims)
        problems = [*_claimed(plan, written, claims), *_cycles(plan, written, stored)]
        if problems:
            raise JobFileError(problems)
        return plan

    async def inventory(self) -> Inventory:
        """What is in the database."""
        async with self._database.connection() as connection:
            return await self._inventory(connection)

    async def _inventory(self, connection: Connection) -> Inventory:
        jobs = await self._jobs.list_in(connection)
        groups = await self._jobs.list_groups_in(connection)
        windows = await self._windows.list_in(connection)
        return {
            # Nothing but its limit can be said of a group, so it does not matter who said it.
            Thing.GROUP: {group.name: Stored(group.spec, managed=True) for group in groups},
            Thing.WINDOW: {w.name: Stored(spec_of_window(w), w.managed) for w in windows},
            Thing.JOB: {job.name: Stored(job.spec, job.managed) for job in jobs},
        }

    async def _carry_out(self, connection: Connection, change: Change) -> None:
        match change.spec:
            case JobSpec():
                await self._jobs.save_in(connection, change.spec, managed=True)
            case GroupSpec(name=name, limit=limit):
                await self._jobs.set_group_limit_in(connection, name, limit)
            case WindowSpec():
                await self._windows.save_in(connection, change.spec, managed=True)
            case _ if change.thing is Thing.WINDOW:
                await self._windows.delete_in(connection, change.name)
            case _:
                await self._jobs.delete_in(connection, change.name)


def as_switched(written: Written, stored: Inventory) -> Written:
    """The file's things, with jobs enabled or disabled as they are where it does not say."""
    jobs: dict[str, BaseModel] = {}
    for name, spec in written.jobs.items():
        kept = stored.get(Thing.JOB, {}).get(name)
        silent = "enabled" not in spec.model_fields_set
        if kept is not None and silent and isinstance(kept.spec, JobSpec):
            spec = spec.model_copy(update={"enabled": kept.spec.enabled})  # noqa: PLW2901
        jobs[name] = spec
    return replace(written, specs={**written.specs, Thing.JOB: jobs})


def _claimed(plan: Plan, written: Written, claims: Claims) -> Iterator[str]:
    """What is wrong with changes to things that belong to somebody else."""
    for change in plan.differences:
        reason = claims.get((change.thing, change.name))
        if reason is not None:
            yield f"{written.place(change.thing, change.name)}: name: {reason}"


def _cycles(plan: Plan, written: Written, stored: Inventory) -> Iterator[str]:
    """The circles in which the jobs, as they will be, wait for each other."""
    removed = {change.name for change in plan.changes if change.action is Action.REMOVED}
    kept = {
        name: kept.spec
        for name, kept in stored.get(Thing.JOB, {}).items()
        if isinstance(kept.spec, JobSpec) and name not in removed
    }
    edges = {name: spec.depends_on for name, spec in {**kept, **written.jobs}.items()}
    for path in find_cycles(sorted(written.jobs), edges):
        place = written.place(Thing.JOB, path[0])
        yield f"{place}: depends_on: a cycle: {' -> '.join(path)}"
