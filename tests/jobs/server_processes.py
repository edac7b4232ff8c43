"""Starts, kills and counts control servers that are processes of their own."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from leitstand.jobs import LoopSettings
from tests.jobs.scene import QUICK, eventually
from tests.jobs.server_process import main
from tests.nursery import NURSERY


@dataclass
class ChildProcess:
    """A process that a test may stop and kill; ``log`` gets what it says."""

    process: ForkServerProcess
    log: Path

    def signal(self, number: int) -> None:
        """Send a signal to the process itself."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    async def killed(self) -> None:
        """Kill -9, and wait until it is gone."""
        self.process.kill()
        await self._gone(10)

    async def stopped(self, patience: float = 20.0) -> int:
        """SIGTERM; its exit status. What it said about another one than 0 is shown by pytest."""
        self.process.terminate()
        status = await self._gone(patience)
        if status != 0:
            print(self.log.read_text()[-4000:])
        return status

    async def ended(self) -> None:
        """Kill it if it still runs, and let go of it."""
        if self.process.is_alive():
            self.signal(signal.SIGCONT)
            await self.killed()
        self.process.close()

    async def _gone(self, patience: float) -> int:
        await asyncio.to_thread(self.process.join, patience)
        assert self.process.exitcode is not None, self.log.read_text()[-4000:]
        return self.process.exitcode


@dataclass
class ServerProcess(ChildProcess):
    """One control server."""

    news: Connection
    instance: str = ""

    async def registered(self) -> "ServerProcess":
        """Wait until it is."""
        if not self.instance:
            self.instance = await eventually(self._told)
        return self

    async def _told(self) -> str | None:
        assert self.process.is_alive(), self.log.read_text()
        return str(self.news.recv()) if self.news.poll() else None


class Servers:
    """All servers of a test."""

    def __init__(self, conninfo: str, directory: Path) -> None:
        self._conninfo = conninfo
        self._directory = directory
        self.started: list[ServerProcess] = []

    async def start(
        self,
        settings: LoopSettings = QUICK,
        grace: float = 1.0,
        *,
        conninfo: str | None = None,
        skew: float = 0.0,
        port: int = 0,
    ) -> ServerProcess:
        """Start one without waiting for it; its clock is ``skew`` seconds fast.

        With ``port`` it answers agents there.
        """
        config = {
            "conninfo": conninfo or self._conninfo,
            "spool": str(self._directory / "spool"),
            "loop": asdict(settings),
            "grace": grace,
            "skew": skew,
            "port": port,
        }
        log = self._directory / f"server-{len(self.started)}.log"
        log.touch()
        news, theirs = NURSERY.Pipe(duplex=False)
        process = NURSERY.Process(target=main, args=(config, log, theirs))
        await asyncio.to_thread(process.start)
        theirs.close()
        server = ServerProcess(process, log, news)
        self.started.append(server)
        return server

    async def end(self) -> None:
        """Kill all that still run, and let go of everything."""
        for server in self.started:
            await server.ended()
            server.news.close()


@asynccontextmanager
async def servers_on(conninfo: str, directory: Path) -> AsyncIterator[Servers]:
    """Servers that are all killed at the end."""
    servers = Servers(conninfo, directory)
    try:
        yield servers
    finally:
        await servers.end()
