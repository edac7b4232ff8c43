"""The control server: registers, passes over the database until told to stop, ends cleanly."""

import asyncio
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import psycopg
import structlog

from leitstand.duties import Duty, going_on
from leitstand.errors import LeitstandError
from leitstand.execution import HaltReason, Heartbeat, HeldRuns, News
from leitstand.jobs.agents.board import TaskBoard
from leitstand.jobs.agents.ledger import Agents
from leitstand.jobs.claimed_run import ClaimedRun
from leitstand.jobs.domain import Domain
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.heartbeat import DatabasePulse
from leitstand.jobs.loop_settings import LoopSettings
from leitstand.jobs.passes import Passes
from leitstand.jobs.queue import CHANNEL
from leitstand.jobs.recorder import Recorder
from leitstand.store.database import DatabaseUnavailableError
from leitstand.store.listener import Listener

log = structlog.get_logger(__name__)

WRITE_DEADLINE = 30.0
"""Seconds at most that a server which ends takes to write the results of its runs."""

FAULT_PAUSE = 1.0
"""Seconds at least from a pass of which a step has failed to the next: what was due still is."""

LAST_MOMENT = 1.0
"""Seconds that results and farewell get at least, also when the runs have used up the grace."""


def new_instance(configured: str = "") -> str:
    """A name that no other process has: the configured one, plus 8 hex digits."""
    return f"{configured or 'control'}-{secrets.token_hex(4)}"


class ControlServer:
    """Runs jobs until asked to stop. Any number of them may work on one database.

    ``on_run_ended`` is called in the event loop whenever the end of a run has been written.
    ``clock`` is this machine's, which is shown and compared but decides nothing.
    """

    def __init__(
        self,
        domain: Domain,
        settings: LoopSettings,
        name: str,
        version: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._domain = domain
        self.settings = settings
        self._name = name
        self._version = version
        self._clock = clock
        self._runs = HeldRuns[ClaimedRun]()
        self._wake = asyncio.Event()
        self._full_pass = True
        self._planned_at: float | None = None
        self._sound = True
        self._renew = False
        self._ends_at: float | None = None
        self.instance = new_instance(name)
        self.outcomes: Counter[str] = Counter()
        self.late_results = 0
        self.on_run_ended: Callable[[], object] = lambda: None
        self.board = TaskBoard(Agents(domain.database))
        self._recorder = Recorder(domain.queue, domain.spool, self.recorded)
        self.passes = Passes(domain, settings, self._runs, self._finished)

    async def run(self, stop: asyncio.Event) -> int:
        """Work until ``stop`` is set, then cancel what runs and end.

        Runs and the writing of their results share the grace period, so that a database that
        hangs does not hold up the end. Returns how many runs could not be ended in it or whose end
        could not be written; those stay ``running`` until others release them.
        """
        async with going_on(self._duties(), self.settings.tick):
            await _until_set(stop, self._recover())
            while not stop.is_set():
                await self._live(stop)
            unwritten, _ = await asyncio.gather(self._settle(), self._deregister())
            return unwritten + len(self.passes.tasks)

    @property
    def draining(self) -> bool:
        """Whether it claims and starts nothing more."""
        return self.passes.draining

    def wake(self) -> None:
        """Have a full pass follow at once; to be called in the event loop's thread."""
        self._full_pass = True
        self._wake.set()

    # -- one life: from a registration to its end ---------------------------------------------

    async def _live(self, stop: asyncio.Event) -> None:
        """Register under a new name, beat and pass; until asked to stop or struck off."""
        await _until_set(stop, self._register())
        if stop.is_set():
            return
        heartbeat = self._heartbeat()
        heartbeat.start()
        try:
            await self._work(stop)
        finally:
            await asyncio.to_thread(heartbeat.stop)

    async def _work(self, stop: asyncio.Event) -> None:
        """Pass until the end of this life, and end what runs then."""
        passing = asyncio.create_task(self._pass_until_ended(stop))
        try:
            await _first_of(stop, passing)  # a pass that hangs does not hold up the end
            reason = HaltReason.SHUTDOWN if stop.is_set() else HaltReason.LEASE_LOST
            await self._end_runs(reason, passing)
        finally:
            await _cancelled(passing)

    async def _register(self) -> None:
        """Keep trying while the database is away: it will come back at night, too."""
        self._renew, self._ends_at = False, None
        while True:
            self.instance = new_instance(self._name)
            try:
                await self._domain.servers.register(
                    self.instance,
                    socket.gethostname(),
                    os.getpid(),
                    self._version,
                    self.settings.max_concurrent_runs,
                    draining=self.draining,
                )
            except (LeitstandError, psycopg.Error) as error:
                log.warning("cannot register", error=str(error).strip())
                await asyncio.sleep(1.0)
            else:
                log.info("registered", instance=self.instance)
                return

    async def _settle(self) -> int:
        patience = max(LAST_MOMENT, self._time_left() - LAST_MOMENT)
        return await self._recorder.settle(min(WRITE_DEADLINE, patience))

    async def _deregister(self) -> None:
        if self.passes.tasks:
            return  # the row says who left these runs behind
        try:
            await self._domain.servers.deregister(self.instance, LAST_MOMENT)
        except (LeitstandError, psycopg.Error) as error:
            log.warning("cannot deregister", error=str(error).strip())

    async def _pass_until_ended(self, stop: asyncio.Event) -> None:
        while not (stop.is_set() or self._renew):
            self._wake.clear()
            full, self._full_pass = self._full_pass, False
            if full:
                self._sound = await self.passes.full(self.instance)
                self._planned_at = None
            else:
                await self.passes.start(self.instance)
            self.board.ring()
            if not await _first_of(self._wake, stop, seconds=await self._pause()):
                self._full_pass = True

    async def _pause(self) -> float:
        """Seconds until the next full pass: at most a tick after the last, less when due sooner.

        What is planned is asked for after a full pass only: a finished run changes nothing about
        it, and the database should not be asked once more for each.
        """
        if self._planned_at is None and not self._wake.is_set():
            self._planned_at = time.monotonic() + await self._until_planned()
        if self._planned_at is None:
            return 0.0
        return max(0.0, self._planned_at - time.monotonic())

    async def _until_planned(self) -> float:
        if self.draining:
            return self.settings.tick  # what comes due is the others' affair
        try:
            planned = await self._domain.queue.next_wake()
        except (DatabaseUnavailableError, psycopg.Error):
            planned = None
        if planned is None:
            return self.settings.tick
        soonest = 0.01 if self._sound else FAULT_PAUSE
        return min(self.settings.tick, max(soonest, planned))

    async def _end_runs(self, reason: HaltReason, passing: asyncio.Task[None]) -> None:
        """Cancel all runs and wait for them, at most the grace period."""
        self._ends_at = time.monotonic() + self.settings.shutdown_grace
        if reason is HaltReason.SHUTDOWN:
            self.passes.end()
        for held in self._runs:
            if held.executing:
                held.stop(reason)
        # A step under way may have started a run that we do not know of yet. One that hangs leaves
        # half of the time to what follows.
        await asyncio.wait([passing], timeout=self._time_left() / 2)
        tasks = self.passes.tasks
        if not tasks:
            return
        _, left = await asyncio.wait(tasks, timeout=self._time_left())
        if left:
            names = sorted(task.get_name() for task in left)
            log.warning("runs are still active; they are left to their lease", runs=names)

    def _time_left(self) -> float:
        """Seconds of the grace period that are left; all of it before the end has begun."""
        if self._ends_at is None:
            return self.settings.shutdown_grace
        return max(0.0, self._ends_at - time.monotonic())

    # -- beside the passes --------------------------------------------------------------------

    def _duties(self) -> list[Duty]:
        duties: list[Duty] = [
            self._recorder.run,
            self._domain.reports.run,
            self.board.run,
            self._release_stale,
        ]
        if self.settings.listen:
            duties.append(self._listener().run)
        return duties

    async def _release_stale(self) -> None:
        while True:
            if await self.passes.release():
                self.wake()  # for the further attempts
            await asyncio.sleep(self.settings.tick)

    def _listener(self) -> Listener:
        return Listener(self._domain.database.conninfo, [CHANNEL], self._notified, on_gap=self._gap)

    def _heartbeat(self) -> Heartbeat:
        loop = asyncio.get_running_loop()
        return Heartbeat(
            DatabasePulse(self._domain.database.conninfo, self.instance, self._clock),
            self._runs,
            self.settings.heartbeat,
            self.settings.fence_after,
            on_news=lambda news: loop.call_soon_threadsafe(self._told, news),
        )

    def _notified(self, channel: str, payload: str) -> None:
        what, _, whom = payload.partition(":")
        if what == "cancel":
            if whom.isdigit():
                self._cancel(int(whom))
        elif what == "drain":
            if whom == self.instance:
                self.drain()
        else:
            self.board.ring()
            if what != "tasks":
                self.wake()

    def _cancel(self, run_id: int) -> None:
        held = self._runs.get(run_id)
        if held is not None and held.executing and held.stop_reason is None:
            held.stop(HaltReason.PERSON)
        self.board.cancelled(run_id)

    def _gap(self) -> None:
        self.board.look_again()
        self.wake()

    def drain(self) -> None:
        """Claim and start nothing more; what runs goes on."""
        if not self.draining:
            log.info("draining: no further runs are claimed", instance=self.instance)
        self.passes.draining = True
        self.board.look_again()

    def _told(self, news: News) -> None:
        if news is News.DRAINING:
            self.drain()
        else:
            self._renew = True
            self.wake()

    # -- results ------------------------------------------------------------------------------

    def _finished(self, finished: FinishedRun) -> None:
        self._recorder.add(finished)
        self._wake.set()

    def recorded(self, finished: FinishedRun, written: bool) -> None:
        """The end of a run of this server, or of an agent that turned to it, was written or not.

        What was not written is kept beside the run, which had been released before.
        """
        held = self._runs.get(finished.lease.run_id)
        if held is not None:
            self._runs.remove(held)
        if finished.retry_delay is not None:
            self._planned_at = None
        if written:
            self.outcomes[finished.outcome.status.value] += 1
        else:
            self.late_results += 1
        self._wake.set()
        self.on_run_ended()

    async def _recover(self) -> None:
        try:
            await self._recorder.recover()
        except (DatabaseUnavailableError, psycopg.Error, OSError) as error:
            log.warning("kept results could not be written yet", error=str(error).strip())


async def _first_of(
    *awaited: asyncio.Event | asyncio.Task[None], seconds: float | None = None
) -> bool:
    """Wait until an event is set or a task done, at most ``seconds``; whether that happened."""
    waiters = {
        asyncio.ensure_future(one.wait()) if isinstance(one, asyncio.Event) else one: one
        for one in awaited
    }
    try:
        done, _ = await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter, one in waiters.items():
            if waiter is not one:
                waiter.cancel()
    return bool(done)


async def _until_set(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do ``work``, but cancel it once ``stop`` is set."""
    task = asyncio.create_task(work)
    try:
        await _first_of(stop, task)
    finally:
        await _cancelled(task)


async def _cancelled(task: asyncio.Task[None]) -> None:
    """Cancel ``task`` unless it is done; raises what it raised."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
