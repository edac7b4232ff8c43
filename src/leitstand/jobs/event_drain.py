"""Turns waiting events into runs of the jobs that listen: many into one, or each into its own."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from leitstand.events import Event, EventQueue, EventState, Gathered, Waiting, run_event
from leitstand.jobs.event_runs import EventRuns, HeldBack
from leitstand.jobs.job import Deliver, Job
from leitstand.jobs.job_ledger import JobLedger
from leitstand.jobs.waiting_run import SOON
from leitstand.jobs.window import Window
from leitstand.jobs.window_rule import next_allowed, waits_in_vain
from leitstand.jobs.window_source import WindowSource
from leitstand.store.database import Connection, Database

BATCH = 5_000
"""Events that one transaction drains."""

MOVED_AT_ONCE = 500
"""Runs that wait for a window and are looked at again in one pass."""

LOOK_EACH = timedelta(minutes=1)
"""How long such a run is held back at a time, so that a window which is new meanwhile counts."""

NO_WINDOW = timedelta(days=1)
"""How long a run that may start in windows only waits at least while none is known; each pass looks
again."""

TellEvent = Callable[[Waiting], None]


def tell_nobody_of_events(event: Waiting) -> None:
    """For whoever has nobody to tell."""
    del event


Key = tuple[str, str]
"""Tenant and name: a job hears the events of its own tenant."""


class EventDrain:
    """Drains the queue of events. Any number of them may work on one database: they take turns.

    ``tell`` is called for each event that was drained, once that is committed.
    """

    def __init__(
        self,
        database: Database,
        jobs: JobLedger,
        runs: EventRuns,
        windows: WindowSource,
        tell: TellEvent = tell_nobody_of_events,
    ) -> None:
        self._tell = tell
        self._database = database
        self._jobs = jobs
        self._runs = runs
        self._windows = windows
        self._events = EventQueue(database)

    async def run_once(self) -> int:
        """Hand a batch of waiting events to the jobs that listen; returns how many there were.

        One transaction: whatever dies here, an event is waiting still, or in its runs. Nothing is
        done (0) while another server drains.
        """
        async with self._database.transaction() as connection:
            now = await self._events.take_turn(connection)
            if now is None:
                return 0
            waiting = await self._events.waiting(connection, BATCH)
            if waiting:
                await self._hand_over(connection, waiting, now)
            await self._hand_over_each(connection, now)
            await self._look_again_at_postponed(connection, now)
        for event in waiting:
            self._tell(event)
        return len(waiting)

    async def _hand_over(
        self, connection: Connection, waiting: Sequence[Waiting], now: datetime
    ) -> None:
        by_key: dict[Key, list[Waiting]] = defaultdict(list)
        for event in waiting:
            by_key[event.tenant, event.name].append(event)
        names = {event.name for event in waiting}
        listeners: dict[Key, list[Job]] = defaultdict(list)
        for job in await self._jobs.listening(connection, names):
            listeners[job.tenant, job.trigger.event or ""].append(job)
        heard = [job for jobs in listeners.values() for job in jobs]
        starts = await self._starts(connection, heard, now)
        unheard: list[int] = []
        for key, events in by_key.items():
            if listeners[key]:
                await self._hand_to(connection, events, listeners[key], starts)
            else:
                unheard.extend(event.id for event in events)
        await self._events.mark(connection, unheard, EventState.UNHEARD)

    async def _hand_to(
        self,
        connection: Connection,
        events: Sequence[Waiting],
        jobs: Sequence[Job],
        starts: Mapping[int, datetime | None],
    ) -> None:
        """Hand the events of one name to the jobs that listen to it."""
        gathered = await self._events.gather(connection, events)
        newest = [job for job in jobs if job.deliver is Deliver.NEWEST]
        runs = [
            await self._runs.queue(connection, job, partial(run_event, gathered), starts[job.id])
            for job in newest
        ]
        ids = [event.id for event in events]
        each = [job.id for job in jobs if job.deliver is Deliver.EACH]
        await self._events.set_apart(connection, each, ids)
        older = EventState.CONSUMED if each else EventState.COALESCED
        run = runs[0] if runs else None
        await self._events.mark(connection, ids[:-1], older, run)
        await self._events.mark(connection, ids[-1:], EventState.CONSUMED, run)

    async def _hand_over_each(self, connection: Connection, now: datetime) -> None:
        """Give jobs that take one event at a time their next, once the run before has ended.

        A further attempt of that run counts as the same run: the order holds.
        """
        ready = {job.id: job for job in await self._jobs.ready_for_each(connection)}
        following = await self._events.next_apart(connection, list(ready)) if ready else {}
        starts = await self._starts(connection, [ready[job_id] for job_id in following], now)
        for job_id, event in following.items():
            run = await self._runs.create(
                connection, ready[job_id], run_event(_alone(event)), starts[job_id]
            )
            if run is not None:
                await self._events.delivered(connection, job_id, event.id, run)

    async def _starts(
        self, connection: Connection, jobs: Sequence[Job], now: datetime
    ) -> dict[int, datetime | None]:
        """When a run of each of the jobs may start; None: now."""
        windows = await self._windows.windows_for(jobs, connection)
        return {job.id: _start(job, windows, now) for job in jobs}

    async def _look_again_at_postponed(self, connection: Connection, now: datetime) -> None:
        """Windows may have been added, moved or taken back since these runs were queued."""
        held = await self._runs.look_again(connection, MOVED_AT_ONCE, SOON)
        if not held:
            return
        windows = await self._windows.windows_for([each.job for each in held], connection)
        for each in held:
            start = _moved(each, windows, now)
            if start != each.not_before:
                await self._runs.move_start(connection, each.run_id, start)


def _moved(held: HeldBack, windows: Sequence[Window], now: datetime) -> datetime:
    """When the run may start, by the windows as they are now; as it is, if it may then."""
    if held.of_event:
        return _start(held.job, windows, now) or min(now, held.not_before)
    wanted = max(now, held.not_before)
    allowed = _start(held.job, windows, wanted)
    return held.not_before if allowed is None else min(allowed, wanted + LOOK_EACH)


def _start(job: Job, windows: Sequence[Window], now: datetime) -> datetime | None:
    allowed = next_allowed(now, job, windows)
    if waits_in_vain(job, allowed):
        return now + NO_WINDOW
    return allowed.at if allowed.moved else None


def _alone(event: Event) -> Gathered:
    return Gathered(1, event.occurred_at, event.occurred_at, [event])
