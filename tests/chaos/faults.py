"""What is done to servers and their database, one small class for each."""

import asyncio
import contextlib
import signal
import subprocess
from typing import Protocol

from tests.chaos.arena import AGENTS, DATABASE, Arena
from tests.jobs.server_processes import ChildProcess

BEYOND_STALE = 1.4
"""Of the stale limit: long enough that others take the runs over."""


class Fault(Protocol):
    """Does its damage and mends what would not mend itself."""

    @property
    def name(self) -> str:
        """For the table."""

    async def strike(self, arena: Arena) -> None:
        """Return when it is over."""


class Kill:
    """kill -9, and another server in its place."""

    name = "SIGKILL"

    async def strike(self, arena: Arena) -> None:
        place = arena.any_place()
        await arena.places[place].killed()
        await arena.replace(place)


class Pause:
    """SIGSTOP until others have taken its runs over, then SIGCONT."""

    name = "SIGSTOP beyond stale"

    async def strike(self, arena: Arena) -> None:
        await _pause(arena.places[arena.any_place()], arena.stale_after * BEYOND_STALE)


async def _pause(process: ChildProcess, seconds: float) -> None:
    with contextlib.suppress(ProcessLookupError):  # it gave up by itself, and is counted as such
        process.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        process.signal(signal.SIGCONT)


class KillAgent:
    """kill -9 of an agent, and another in its place."""

    name = "agent SIGKILL"

    async def strike(self, arena: Arena) -> None:
        place = arena.chance.randrange(AGENTS)
        await arena.agents[place].killed()
        await arena.replace_agent(place)


class PauseAgent:
    """SIGSTOP of an agent until others have taken its runs over, then SIGCONT."""

    name = "agent SIGSTOP beyond stale"

    async def strike(self, arena: Arena) -> None:
        await _pause(arena.chance.choice(arena.agents), arena.stale_after * BEYOND_STALE)


class RestartDatabase:
    """PostgreSQL stops and starts."""

    name = "PostgreSQL restart"

    async def strike(self, arena: Arena) -> None:
        async with arena.trouble():
            await asyncio.to_thread(arena.postgres.stop)
            await asyncio.to_thread(arena.postgres.start)


class CutBackends:
    """Most sessions are terminated, five times in a row."""

    name = "backends killed"
    statement = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = '{DATABASE}' AND pid <> pg_backend_pid() AND random() < 0.7"
    )

    async def strike(self, arena: Arena) -> None:
        async with arena.trouble():
            for _ in range(5):
                await asyncio.to_thread(arena.sql, self.statement)
                await asyncio.sleep(0.2)


class ReadOnly:
    """What was a primary refuses writes for a while."""

    name = "read-only database"

    async def strike(self, arena: Arena) -> None:
        async with arena.trouble():
            await asyncio.to_thread(self._turn, arena, "on")
            await asyncio.sleep(1.0)
            await asyncio.to_thread(self._turn, arena, "off")

    def _turn(self, arena: Arena, value: str) -> None:
        change = f"ALTER SYSTEM SET default_transaction_read_only = {value}"
        arena.sql(change, "SELECT pg_reload_conf()")


class Stall:
    """Between one server and the database no byte moves until others have taken its runs over."""

    name = "stalled network"

    async def strike(self, arena: Arena) -> None:
        arena.proxy.flowing.clear()
        await asyncio.sleep(arena.stale_after * BEYOND_STALE)
        arena.proxy.flowing.set()


class SkewedClock:
    """A server ends in peace; the one in its place has a clock that is ten minutes off."""

    name = "clock off by 10 min"

    async def strike(self, arena: Arena) -> None:
        place = arena.any_place()
        await arena.places[place].stopped()
        await arena.replace(place, skew=arena.chance.choice((600.0, -600.0)))


class FullDisk:
    """PostgreSQL cannot write any more: it panics at the next commit, and recovers.

    A limit of the size of files does it for root and for everybody else, without a file system to
    fill. Only sessions are limited, so that what replaces them is sound.
    """

    name = "disk full"
    sessions = (
        f"SELECT pid FROM pg_stat_activity WHERE datname = '{DATABASE}' AND pid <> pg_backend_pid()"
    )

    end = sessions.replace("pid", "pg_terminate_backend(pid)", 1)

    async def strike(self, arena: Arena) -> None:
        async with arena.trouble():
            await asyncio.to_thread(self._limit, arena)
            await asyncio.sleep(1.5)
            await asyncio.to_thread(arena.sql, self.end)

    def _limit(self, arena: Arena) -> None:
        account = arena.postgres.cluster.account
        for (pid,) in arena.sql(self.sessions):
            command = ["prlimit", f"--pid={pid}", "--fsize=8192:"]
            # One that has ended by now is as good as limited.
            with subprocess.Popen(
                command, stderr=subprocess.DEVNULL, **account.popen_options()
            ) as limiting:
                limiting.wait(10)


class Flood:
    """A job prints far more than is kept."""

    name = "log flood"

    async def strike(self, arena: Arena) -> None:
        await arena.flood()


WITHOUT_AGENTS: tuple[Fault, ...] = (
    Kill(),
    Pause(),
    RestartDatabase(),
    CutBackends(),
    ReadOnly(),
    Stall(),
    SkewedClock(),
    FullDisk(),
    Flood(),
)

FAULTS = (*WITHOUT_AGENTS, KillAgent(), PauseAgent())
