"""Starts, kills and counts agents that are processes of their own."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leitstand.modules import Credential, CredentialLedger, ModuleLedger
from leitstand.store.database import Database
from tests.agents.agent_process import main
from tests.jobs.scene import eventually
from tests.jobs.server_processes import ChildProcess
from tests.nursery import NURSERY


@dataclass
class AgentProcess(ChildProcess):
    """One agent."""

    name: str

    async def connected(self) -> str:
        """Wait until it is registered; its instance."""
        return await eventually(self._instance)

    async def _instance(self) -> str | None:
        assert self.process.is_alive(), self.log.read_text()
        lines = [line for line in self.log.read_text().splitlines() if "registered" in line]
        return lines[-1].split("instance=")[1].split()[0] if lines else None

    def logged(self, words: str) -> bool:
        """Whether its log has these words."""
        return words in self.log.read_text()

    async def logs(self, words: str) -> None:
        """Wait until it has."""

        async def look() -> bool | None:
            return self.logged(words) or None

        await eventually(look)


class AgentProcesses:
    """All agents of a test."""

    def __init__(self, database: Database, directory: Path) -> None:
        self._database = database
        self._directory = directory
        self._credentials: dict[str, Credential] = {}
        self.started: list[AgentProcess] = []

    async def credential(self, name: str) -> Credential:
        """The credential of the module ``name``, which is registered when it must be."""
        if name not in self._credentials:
            await ModuleLedger(self._database).register(name, "1.0")
            made = await CredentialLedger(self._database).provision(name)
            self._credentials[name] = made
        return self._credentials[name]

    async def start(
        self,
        name: str,
        urls: Sequence[str],
        environment: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> AgentProcess:
        """Start one without waiting for it; ``fields`` are of its configuration."""
        credential = await self.credential(name)
        configuration = {
            "servers": list(urls),
            "client_id": credential.client_id,
            "client_secret": credential.secret,
            "directory": self._directory / f"agent-{name}",
            "shutdown_grace": 3.0,
            **fields,
        }
        config = {"configuration": configuration, "environment": dict(environment or {})}
        log = self._directory / f"agent-{len(self.started)}.log"
        log.touch()
        process = NURSERY.Process(target=main, args=(config, log))
        await asyncio.to_thread(process.start)
        agent = AgentProcess(process, log, name)
        self.started.append(agent)
        return agent

    async def end(self) -> None:
        """Kill all that still run."""
        for agent in self.started:
            await agent.ended()


@asynccontextmanager
async def agents_on(database: Database, directory: Path) -> AsyncIterator[AgentProcesses]:
    """Agents that are all killed at the end."""
    agents = AgentProcesses(database, directory)
    try:
        yield agents
    finally:
        await agents.end()
