"""Where a campaign takes place: servers and agents that can be lost, and a database, too."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psycopg

from tests.agents.agent_processes import AgentProcess
from tests.chaos.verdict import Trouble
from tests.conftest import Postgres
from tests.jobs.scene import eventually
from tests.jobs.server_processes import ServerProcess
from tests.stalling_proxy import StallingProxy

DATABASE = "chaos"
PLACES = 3
AGENTS = 2
BEHIND_PROXY = 2
"""The place whose server reaches the database through the proxy."""

Hire = Callable[[int, float], Awaitable[ServerProcess]]
"""Starts a server for a place, with a clock that is so many seconds fast."""

HireAgent = Callable[[int], Awaitable[AgentProcess]]
"""Starts an agent for one of the places that agents have."""


@dataclass
class Arena:
    """The servers and agents in their places, and what is around them."""

    postgres: Postgres
    proxy: StallingProxy
    hire: Hire
    hire_agent: HireAgent | None
    chance: random.Random
    stale_after: float
    flood: Callable[[], Awaitable[object]]
    places: list[ServerProcess] = field(default_factory=list)
    agents: list[AgentProcess] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)
    gave_up: int = 0

    async def occupy(self) -> None:
        """Start a server or an agent in each place."""
        self.places = [await self.hire(place, 0.0) for place in range(PLACES)]
        for server in self.places:
            await server.registered()
        if self.hire_agent is not None:
            self.agents = [await self.hire_agent(place) for place in range(AGENTS)]
        for agent in self.agents:
            await agent.connected()

    def any_place(self) -> int:
        """One of the places."""
        return self.chance.randrange(PLACES)

    async def replace(self, place: int, skew: float = 0.0) -> None:
        """Start another server where one has ended."""
        self.places[place] = await self.hire(place, skew)

    async def replace_agent(self, place: int) -> None:
        """Start another agent where one has ended."""
        assert self.hire_agent is not None
        self.agents[place] = await self.hire_agent(place)

    async def count_those_that_gave_up(self) -> None:
        """Who ended though nobody asked for it; others take their places."""
        for place, server in enumerate(self.places):
            if not server.process.is_alive():
                self.gave_up += 1
                await self.replace(place)
        for place, agent in enumerate(self.agents):
            if not agent.process.is_alive():
                self.gave_up += 1
                await self.replace_agent(place)

    async def leave(self) -> None:
        """Ask all to end, and wait until they have."""
        for process in (*self.agents, *self.places):
            await process.stopped()

    @asynccontextmanager
    async def trouble(self) -> AsyncIterator[None]:
        """A time in which the database cannot be written; it can be when this has ended."""
        began = datetime.now(UTC)
        try:
            yield
        finally:
            await eventually(self._writable)
            self.troubles.append((began, datetime.now(UTC)))

    async def _writable(self) -> bool | None:
        try:
            await asyncio.to_thread(self.sql, "BEGIN", "CREATE TABLE proof ()", "ROLLBACK")
        except psycopg.Error:
            return None
        return True

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements as the database's owner; the rows of the last one."""
        rows: list[tuple[object, ...]] = []
        with psycopg.connect(self.postgres.conninfo(DATABASE), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows
