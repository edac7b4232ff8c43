"""One pass of a control server: claim, drain, start; and beside it the release of lost runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import psycopg
import structlog

from leitstand.errors import LeitstandError
from leitstand.execution import HaltReason, HeldRuns
from leitstand.jobs.claimed_run import ClaimedRun
from leitstand.jobs.domain import Domain
from leitstand.jobs.event_drain import BATCH, EventDrain
from leitstand.jobs.event_runs import EventRuns
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.loop_settings import LoopSettings
from leitstand.jobs.rescuer import Rescuer
from leitstand.jobs.scheduler import Scheduler
from leitstand.jobs.window_ledger import WindowLedger
from leitstand.jobs.window_source import WindowSource

log = structlog.get_logger(__name__)


class Passes:
    """The steps of the loop, and the tasks of the runs that they start."""

    def __init__(
        self,
        domain: Domain,
        settings: LoopSettings,
        runs: HeldRuns[ClaimedRun],
        on_finished: Callable[[FinishedRun], None],
    ) -> None:
        database, stale_after = domain.database, settings.stale_after
        self._rescuer = Rescuer(database, domain.queue, stale_after)
        self._agents_rescuer = Rescuer(database, domain.queue, stale_after, of_agents=True)
        windows = WindowSource(WindowLedger(domain.database), domain.downtimes)
        self._scheduler = Scheduler(
            domain.database, domain.jobs, domain.queue, windows, settings.late_tolerance
        )
        self._drain = EventDrain(
            domain.database,
            domain.jobs,
            EventRuns(domain.queue.tell),
            windows,
            domain.tell_event,
        )
        self._queue = domain.queue
        self._runner = domain.runner
        self._runs = runs
        self._max_runs = settings.max_concurrent_runs
        self._fence_after = settings.fence_after
        self._on_finished = on_finished
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = False
        self.draining = False
        self.released = 0
        self.failed_steps = 0
        self.last_completed = time.monotonic()

    @property
    def tasks(self) -> frozenset[asyncio.Task[None]]:
        """The tasks of the runs that are being carried out."""
        return frozenset(self._tasks)

    def end(self) -> None:
        """Take no further step; a run that a step under way still starts is stopped at once."""
        self._ending = True

    async def full(self, instance: str) -> bool:
        """Claim what is due, drain events, start what is queued; while draining, nothing.

        A failing step is logged and does not stop the later ones; after ``end`` none is taken.
        Returns whether none has failed.
        """
        sound = True
        if not self.draining:
            sound = await self._step("claim due jobs", self._claim)
            sound = await self._step("drain events", self._drain_events) and sound
            sound = await self.start(instance) and sound
        if sound:
            self.last_completed = time.monotonic()
        return sound

    async def release(self) -> bool:
        """Release stale runs of servers and of agents, also while draining; whether any was.

        It waits for no lock, while the steps of a pass may wait for a server that was stopped in
        the middle of one: beside them, it is late for nobody.
        """
        before = self.released
        await self._step("release stale runs", lambda: self._release(self._rescuer))
        await self._step("release stale agent tasks", lambda: self._release(self._agents_rescuer))
        return self.released > before

    async def start(self, instance: str) -> bool:
        """Start queued runs while there are free slots and runs to take."""
        return await self._step("start queued runs", lambda: self._start(instance))

    async def _step(self, name: str, step: Callable[[], Awaitable[None]]) -> bool:
        if self._ending:
            return False
        try:
            await step()
        except (LeitstandError, psycopg.Error) as error:
            log.error("a step of the loop failed", step=name, error=str(error).strip())  # noqa: TRY400 -- the reason is enough
        except Exception:  # an unforeseen fault in one step may not stop the others
            log.exception("a step of the loop failed unexpectedly", step=name)
        else:
            return True
        self.failed_steps += 1
        return False

    async def _release(self, rescuer: Rescuer) -> None:
        self.released += len(await rescuer.run_once())

    async def _claim(self) -> None:
        """Claim batches of twice the concurrency limit at most until nothing more is due."""
        limit = 2 * self._max_runs
        while (await self._scheduler.run_once(limit)).more and not self._ending:
            pass

    async def _drain_events(self) -> None:
        """Drain batches until fewer wait than one holds."""
        while await self._drain.run_once() == BATCH and not self._ending:
            pass

    async def _start(self, instance: str) -> None:
        while (
            not (self.draining or self._ending) and (free := self._max_runs - len(self._tasks)) > 0
        ):
            vouched_at = time.monotonic()
            started = await self._queue.start(instance, free)
            for run in started:
                held = ClaimedRun(run, vouched_at, self._fence_after, self._runner.children)
                self._runs.add(held)
                self._spawn(held)
            if len(started) < free:
                return

    def _spawn(self, held: ClaimedRun) -> None:
        task = asyncio.create_task(self._carry_out(held), name=f"run-{held.lease.run_id}")
        held.attach(task)
        if self._ending:
            held.stop(HaltReason.SHUTDOWN)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, held: ClaimedRun) -> None:
        try:
            finished = await self._runner.carry_out(held)
        except Exception:  # nobody knows how it ended: vouched for, it would be running for ever
            log.exception("a run is left to its lease", run=held.lease.run_id)
            self._runs.remove(held)
        else:
            self._on_finished(finished)
