"""Starts, kills and counts control servers that are processes of their own."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from leitstand.jobs import LoopSettings
from tests.jobs.scene import QUICK

ROOT = Path(__file__).parents[2]


@dataclass
class ServerProcess:
    """One control server."""

    process: asyncio.subprocess.Process
    log: Path
    instance: str = ""

    async def registered(self) -> "ServerProcess":
        """Wait until it is."""
        assert self.process.stdout is not None
        async with asyncio.timeout(20):
            line = await self.process.stdout.readline()
        assert line, self.log.read_text()
        self.instance = line.decode().strip()
        return self

    def signal(self, number: int) -> None:
        """Send a signal to the server process itself."""
        os.kill(self.process.pid, number)

    async def killed(self) -> None:
        """Kill -9, and wait until it is gone."""
        if self.process.returncode is None:
            self.signal(signal.SIGKILL)
        await self.process.wait()

    async def stopped(self, patience: float = 20.0) -> int:
        """SIGTERM; its exit status."""
        if self.process.returncode is None:
            self.signal(signal.SIGTERM)
        async with asyncio.timeout(patience):
            return await self.process.wait()


class Servers:
    """All servers of a test."""

    def __init__(self, conninfo: str, directory: Path) -> None:
        self._conninfo = conninfo
        self._directory = directory
        self.started: list[ServerProcess] = []

    async def start(self, settings: LoopSettings = QUICK, grace: float = 1.0) -> ServerProcess:
        """Start one without waiting for it."""
        config = {
            "conninfo": self._conninfo,
            "spool": str(self._directory / "spool"),
            "loop": asdict(settings),
            "grace": grace,
        }
        log = self._directory / f"server-{len(self.started)}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.jobs.server_process",
                json.dumps(config),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=ROOT,
            )
        server = ServerProcess(process, log)
        self.started.append(server)
        return server


@asynccontextmanager
async def servers_on(conninfo: str, directory: Path) -> AsyncIterator[Servers]:
    """Servers that are all killed at the end."""
    servers = Servers(conninfo, directory)
    try:
        yield servers
    finally:
        for server in servers.started:
            if server.process.returncode is None:
                server.signal(signal.SIGCONT)
            await server.killed()
