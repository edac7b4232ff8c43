"""The agent's life: says hello, asks for tasks, carries them out, ends cleanly."""

import asyncio
import os
import random
import socket
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import structlog

from leitstand.agent.bench import Abilities, Bench
from leitstand.agent.client import RefusedError, RejectedError, ServerClient
from leitstand.agent.configuration import AgentConfiguration
from leitstand.agent.outbox import Outbox
from leitstand.agent.pulse import HttpPulse, vouch
from leitstand.agent.task_run import TaskRun
from leitstand.agent_protocol import (
    POLL_WAIT,
    Goodbye,
    Hello,
    Orders,
    Welcome,
)
from leitstand.errors import LeitstandError, UnavailableError
from leitstand.execution import (
    FENCE_SHARE,
    DocumentSpool,
    HaltReason,
    Heartbeat,
    News,
)

log = structlog.get_logger(__name__)

DEADLINE = 10.0
"""Seconds that a server has to answer, beyond the time for which a poll waits."""

LONGEST_PAUSE = 30.0
"""Seconds at most between two attempts while no server answers."""

FAREWELL = 3.0
"""Seconds that a server has to take a goodbye; it is a courtesy."""

STRANGER = ("NOT_REGISTERED", "UNKNOWN_INSTANCE")
"""Codes of servers that do not know this process (any more)."""


class Agent:
    """Carries out tasks until asked to stop."""

    def __init__(
        self, configuration: AgentConfiguration, version: str, abilities: Abilities
    ) -> None:
        self._configuration = configuration
        self._version = version
        self._abilities = abilities
        self._bench = Bench(abilities, configuration.slots)
        self._ended = asyncio.Event()
        self._refusal: RefusedError | None = None
        self._instance = ""

    async def run(self, stop: asyncio.Event) -> int:
        """Work until ``stop`` is set, then cancel what runs and end.

        Returns how many runs could not be ended within the grace. Raises RefusedError when the
        servers do not accept the credential, at the start or later; what runs is killed then.
        """
        spool = DocumentSpool(self._configuration.directory / "results")
        async with ServerClient(self._configuration) as client:
            outbox = Outbox(client, spool)
            while not stop.is_set() and self._refusal is None:
                await self._live(client, outbox, stop)
        if self._refusal is not None:
            raise self._refusal
        return self._bench.left

    # -- one life: from a hello to the end -------------------------------------------------------

    async def _live(self, client: ServerClient, outbox: Outbox, stop: asyncio.Event) -> None:
        welcome = await self._hello(client, stop)
        if welcome is None:
            return
        self._instance = welcome.instance
        self._ended.clear()
        fence_after = welcome.stale_after * FENCE_SHARE
        async with (
            self._vouched_for(welcome, fence_after),
            _beside(outbox.recover()),
            _beside(outbox.report(self._instance)),
        ):
            async with _beside(self._ask_on(client, outbox, fence_after)):
                await _first_of(stop, self._ended)
            reason = HaltReason.SHUTDOWN if stop.is_set() else HaltReason.LEASE_LOST
            await self._bench.clear(reason, self._configuration.shutdown_grace)
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
            self._bench.runs,
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
        goodbye = Goodbye(instance=self._instance, held=self._bench.held)
        try:
            await client.tell("goodbye", goodbye, FAREWELL)
        except LeitstandError as error:
            log.warning("cannot say goodbye", error=error.message)

    # -- tasks -----------------------------------------------------------------------------------

    async def _ask_on(self, client: ServerClient, outbox: Outbox, fence_after: float) -> None:
        """Ask for tasks until cancelled, anew whenever a run has ended."""
        pause = 0.2
        while True:
            try:
                orders = await self._orders(client)
                await self._follow(client, outbox, orders, fence_after)
                pause = 0.2
                continue
            except RefusedError as error:
                self._refused(error)
                return
            except (UnavailableError, RejectedError) as error:
                if error.code in STRANGER:
                    log.warning("the servers do not know this agent", error=error.message)
                    self._ended.set()
                    return
                log.warning("no control server has tasks", error=error.message)
            except Exception:  # what nobody foresaw may not leave the agent there, deaf
                log.exception("asking for tasks failed unexpectedly")
            await asyncio.sleep(_jittered(pause))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _orders(self, client: ServerClient) -> Orders:
        """What the servers want; nothing when a run has ended meanwhile, so that there is room."""
        self._bench.changed.clear()
        poll = self._bench.poll(self._instance)
        asking = asyncio.create_task(client.ask("tasks", poll, Orders, POLL_WAIT + DEADLINE))
        changing = asyncio.create_task(self._bench.changed.wait())
        try:
            await asyncio.wait((asking, changing), return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else Orders()
        finally:
            await _cancelled(asking)
            await _cancelled(changing)

    async def _follow(
        self, client: ServerClient, outbox: Outbox, orders: Orders, fence_after: float
    ) -> None:
        self._bench.cancel(orders.cancelled)
        new = self._bench.new_of(orders.tasks)
        if not new:
            return
        # The answer may be old: what a heartbeat confirms now is ours for a while from now.
        sent = time.monotonic()
        leases = [task.claim.lease for task in new]
        vouched = await vouch(client, self._instance, leases, DEADLINE)
        for task in new:
            if task.claim.run in vouched.beaten:
                held = TaskRun(task, self._instance, sent, fence_after, self._abilities.children)
                self._bench.begin(held, outbox, self._refused)
            else:
                log.warning("a task came too late", run=task.claim.run)


def _jittered(pause: float) -> float:
    return pause * (1 + random.random())  # noqa: S311 -- jitter


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Work whose refusal is told elsewhere, too."""
    try:
        await work
    except RefusedError as error:
        log.warning("the servers refuse this agent", error=error.message)
    except Exception:  # a fault in one of the duties may not be passed over
        log.exception("a duty of the agent failed unexpectedly")
        raise


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
