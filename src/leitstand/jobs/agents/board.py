"""Wakes the agents that wait at this server when there may be something for them.

However many wait, they hold no connection: one question about what is queued serves all of them,
and only those that fit go on to claim.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
import structlog

from leitstand.jobs.agents.agent import AgentInfo
from leitstand.jobs.agents.ledger import Agents
from leitstand.store.database import DatabaseUnavailableError

log = structlog.get_logger(__name__)

REST = 0.05
"""Seconds between two looks at what is queued, however often the bell rings."""


class Waiter:
    """One agent's question that waits for an answer."""

    def __init__(self, agent: AgentInfo, held: frozenset[int], full: frozenset[str]) -> None:
        self.agent = agent
        self.held = held
        self.full = full
        self.ended = False
        self._woken = asyncio.Event()

    def may_take(self, kind: str, words: Sequence[str]) -> bool:
        """Whether it could be given such a run now."""
        return kind not in self.full and self.agent.offers(kind, words)

    def wake(self) -> None:
        """Have it look for tasks and requests to cancel."""
        self._woken.set()

    def end(self) -> None:
        """Have it go away with what it has."""
        self.ended = True
        self._woken.set()

    async def woken(self, until: float) -> bool:
        """Wait to be woken, at most until then (the loop's clock); whether there is a reason to."""
        if self.ended:
            return False
        try:
            async with asyncio.timeout_at(until):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return not self.ended


class TaskBoard:
    """The questions that wait at this server, by agent."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._waiters: dict[str, Waiter] = {}
        self._rung = asyncio.Event()
        self._closed = False

    @contextmanager
    def waiting(
        self, agent: AgentInfo, held: frozenset[int], full: frozenset[str]
    ) -> Iterator[Waiter]:
        """Have a question wait; an earlier one of the same agent, which has given up, ends."""
        waiter = Waiter(agent, held, full)
        waiter.ended = self._closed
        earlier = self._waiters.get(agent.instance)
        self._waiters[agent.instance] = waiter
        if earlier is not None:
            earlier.end()
        try:
            yield waiter
        finally:
            if self._waiters.get(agent.instance) is waiter:
                del self._waiters[agent.instance]

    def __len__(self) -> int:
        return len(self._waiters)

    def ring(self) -> None:
        """Something may have been queued, or a slot of a group become free."""
        if self._waiters:
            self._rung.set()

    def cancelled(self, run_id: int) -> None:
        """Somebody wants the run to stop; the agent that holds it may be waiting here."""
        for waiter in self._waiters.values():
            if run_id in waiter.held:
                waiter.wake()

    def look_again(self) -> None:
        """Notifications may have been lost: all look for themselves."""
        for waiter in self._waiters.values():
            waiter.wake()

    async def run(self) -> None:
        """Answer the bell until cancelled; then all that wait are sent away."""
        try:
            while True:
                await self._rung.wait()
                self._rung.clear()
                await self._wake_those_that_fit()
                await asyncio.sleep(REST)
        finally:
            self._closed = True
            for waiter in self._waiters.values():
                waiter.end()

    async def _wake_those_that_fit(self) -> None:
        try:
            wanted = await self._agents.waiting()
        except (DatabaseUnavailableError, psycopg.Error) as error:
            log.warning("agents wait for the database", error=str(error).strip())
            return
        for waiter in tuple(self._waiters.values()):
            if any(waiter.may_take(kind, words) for kind, words in wanted):
                waiter.wake()
