"""The agent's life: says hello, asks for tasks, carries them out, ends cleanly."""

import asyncio
import os
import random
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from leitstand.agent.client import RefusedError, RejectedError, ServerClient
from leitstand.agent.configuration import AgentConfiguration
from leitstand.agent.outbox import Outbox
from leitstand.agent.pulse import HttpPulse, vouch
from leitstand.agent.task_run import TaskRun
from leitstand.agent_protocol import (
    POLL_WAIT,
    Delivery,
    End,
    Goodbye,
    Hello,
    Orders,
    Poll,
    Welcome,
)
from leitstand.errors import LeitstandError, UnavailableError
from leitstand.execution import (
    FENCE_SHARE,
    Children,
    DocumentSpool,
    HaltReason,
    Heartbeat,
    HeldRuns,
    Kinds,
    News,
    WorkerCall,
    ending_of,
    execute,
)

log = structlog.get_logger(__name__)

DEADLINE = 10.0
"""Seconds that a server has to answer, beyond the time for which a poll waits."""

LONGEST_PAUSE = 30.0
"""Seconds at most between two attempts while no server answers."""

LAST_PATIENCE = 2.0
"""Seconds after the grace for what is killed to end and for results to reach the disk."""

STRANGER = ("NOT_REGISTERED", "UNKNOWN_INSTANCE")
"""Codes of servers that do not know this process (any more)."""


@dataclass(frozen=True)
class Abilities:
    """The kinds of tasks that an agent takes, and by what it carries them out.

    ``children`` must be those under which the executors of ``kinds`` start their processes.
    """

    kinds: Kinds
    in_worker: WorkerCall
    children: Children


class Agent:
    """Carries out tasks until asked to stop."""

    def __init__(
        self, configuration: AgentConfiguration, version: str, abilities: Abilities
    ) -> None:
        self._configuration = configuration
        self._version = version
        self._abilities = abilities
        self._runs = HeldRuns[TaskRun]()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        self._refusal: RefusedError | None = None
        self._spent: frozenset[int] = frozenset()
        self.instance = ""

    async def run(self, stop: asyncio.Event) -> int:
        """Work until ``stop`` is set, then cancel what runs and end.

        Returns how many runs could not be ended within the grace. Raises RefusedError when the
        servers do not accept the credential, at the start or later; what runs is killed then.
        """
        spool = DocumentSpool(self._configuration.directory / "results")
        async with ServerClient(self._configuration) as client:
            outbox = Outbox(client, spool)
            recovering = asyncio.create_task(_quietly(outbox.recover()))
            try:
                while not stop.is_set() and self._refusal is None:
                    await self._live(client, outbox, stop)
            finally:
                await _cancelled(recovering)
        if self._refusal is not None:
            raise self._refusal
        return len(self._tasks)

    # -- one life: from a hello to the end -------------------------------------------------------

    async def _live(self, client: ServerClient, outbox: Outbox, stop: asyncio.Event) -> None:
        welcome = await self._hello(client, stop)
        if welcome is None:
            return
        self.instance = welcome.instance
        self._ended.clear()
        fence_after = welcome.stale_after * FENCE_SHARE
        async with self._vouched_for(welcome, fence_after), _beside(outbox.report(self.instance)):
            asking = asyncio.create_task(self._ask_on(client, outbox, fence_after))
            await _first_of(stop, self._ended)
            await _cancelled(asking)
            await self._end_runs(HaltReason.SHUTDOWN if stop.is_set() else HaltReason.LEASE_LOST)
        await self._goodbye(client)

    async def _hello(self, client: ServerClient, stop: asyncio.Event) -> Welcome | None:
        """Introduce this process, for as long as it takes; None when there is no more need to."""
        hello = Hello(
            host=socket.gethostname(),
            pid=os.getpid(),
            version=self._version,
            kinds=tuple(self._abilities.kinds),
            tags=tuple(self._configuration.tags),
            slots=self._configuration.slots,
        )
        pause = 0.2
        while not stop.is_set():
            try:
                welcome = await client.ask("hello", hello, Welcome, DEADLINE)
            except RefusedError as error:
                self._refusal = error
                return None
            except (UnavailableError, RejectedError) as error:
                log.warning("no control server takes this agent yet", error=error.message)
            else:
                log.info("registered", instance=welcome.instance, kinds=hello.kinds)
                return welcome
            await _first_of(stop, seconds=_jittered(pause))
            pause = min(2 * pause, LONGEST_PAUSE)
        return None

    @asynccontextmanager
    async def _vouched_for(self, welcome: Welcome, fence_after: float) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        pulse = HttpPulse(
            self._configuration,
            welcome.instance,
            lambda error: loop.call_soon_threadsafe(self._refused, error),
        )
        heartbeat = Heartbeat(
            pulse,
            self._runs,
            welcome.heartbeat,
            fence_after,
            lambda news: loop.call_soon_threadsafe(self._told, news),
        )
        heartbeat.start()
        try:
            yield
        finally:
            await asyncio.to_thread(heartbeat.stop)

    def _told(self, news: News) -> None:
        if news is News.STRUCK_OFF:
            self._ended.set()

    def _refused(self, error: RefusedError) -> None:
        self._refusal = error
        self._ended.set()

    async def _goodbye(self, client: ServerClient) -> None:
        held = frozenset(held.lease.run_id for held in self._runs)
        try:
            await client.tell("goodbye", Goodbye(instance=self.instance, held=held), DEADLINE)
        except LeitstandError as error:
            log.warning("cannot say goodbye", error=error.message)

    async def _end_runs(self, reason: HaltReason) -> None:
        """Stop all runs and wait until they are delivered, at most the grace; the rest is kept."""
        for held in self._runs:
            if held.executing:
                held.stop(reason)
        for patience in (self._configuration.shutdown_grace, LAST_PATIENCE):
            if self._tasks:
                await asyncio.wait(tuple(self._tasks), timeout=patience)
            for task in tuple(self._tasks):
                task.cancel()

    # -- tasks -----------------------------------------------------------------------------------

    async def _ask_on(self, client: ServerClient, outbox: Outbox, fence_after: float) -> None:
        """Ask for tasks until cancelled, anew whenever a run has ended."""
        pause = 0.2
        while True:
            try:
                orders = await self._orders(client)
                await self._follow(client, outbox, orders, fence_after)
                pause = 0.2
            except RefusedError as error:
                self._refused(error)
                return
            except (UnavailableError, RejectedError) as error:
                if error.code in STRANGER:
                    log.warning("the servers do not know this agent", error=error.message)
                    self._ended.set()
                    return
                log.warning("no control server has tasks", error=error.message)
                await asyncio.sleep(_jittered(pause))
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _orders(self, client: ServerClient) -> Orders:
        """What the servers want; nothing when a run has ended meanwhile, so that there is room."""
        self._changed.clear()
        runs = list(self._runs)
        busy = Counter(held.task.kind for held in runs)
        poll = Poll(
            instance=self.instance,
            held=frozenset(held.lease.run_id for held in runs) | self._spent,
            halted=frozenset(
                held.lease.run_id
                for held in runs
                if held.stop_reason is not None or not held.executing
            ),
            full=frozenset(
                kind for kind, count in busy.items() if count >= self._configuration.slots
            ),
        )
        asking = asyncio.create_task(client.ask("tasks", poll, Orders, POLL_WAIT + DEADLINE))
        changing = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((asking, changing), return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else Orders()
        finally:
            await _cancelled(asking)
            await _cancelled(changing)

    async def _follow(
        self, client: ServerClient, outbox: Outbox, orders: Orders, fence_after: float
    ) -> None:
        for run_id in orders.cancelled:
            held = self._runs.get(run_id)
            if held is not None and held.executing and held.stop_reason is None:
                held.stop(HaltReason.PERSON)
        known = {held.lease.run_id for held in self._runs} | self._spent
        new = [task for task in orders.tasks if task.claim.run not in known]
        if not new:
            return
        # The answer may be old: what a heartbeat confirms now is ours for a while from now.
        sent = time.monotonic()
        leases = [task.claim.lease for task in new]
        vouched = await vouch(client, self.instance, leases, DEADLINE)
        for task in new:
            if task.claim.run in vouched.beaten:
                self._begin(outbox, TaskRun(task, sent, fence_after, self._abilities.children))
            else:
                log.warning("a task came too late", run=task.claim.run)

    def _begin(self, outbox: Outbox, held: TaskRun) -> None:
        self._runs.add(held)
        task = asyncio.create_task(self._carry_out(outbox, held), name=f"run-{held.lease.run_id}")
        held.attach(task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, outbox: Outbox, held: TaskRun) -> None:
        instance, task = self.instance, held.task
        reporter = outbox.open(held.lease)
        try:
            ending = await ending_of(
                execute(
                    self._abilities.kinds,
                    self._abilities.in_worker,
                    task.params,
                    task.facts(),
                    reporter,
                )
            )
        finally:
            held.ended()
            outbox.close(held.lease)
        delivery = Delivery(
            instance=instance,
            claim=task.claim,
            end=End.of(ending, held.stop_reason),
            reports=reporter.last_reports(),
        )
        try:
            if not await outbox.deliver(delivery):
                # The servers may believe that it is still to be done; it may not be done twice.
                self._spent |= {held.lease.run_id}
        except RefusedError as error:
            self._refused(error)
        finally:
            self._runs.remove(held)
            self._changed.set()


def _jittered(pause: float) -> float:
    return pause * (1 + random.random())  # noqa: S311 -- jitter


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Work whose refusal is told elsewhere, too."""
    try:
        await work
    except RefusedError as error:
        log.warning("kept results could not be delivered yet", error=error.message)


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(_quietly(work))
    try:
        yield
    finally:
        await _cancelled(task)


async def _cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _first_of(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Wait until one of the events is set, at most ``seconds``."""
    waiters = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
