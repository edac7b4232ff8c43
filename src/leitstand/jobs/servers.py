"""The ledger of control servers: who is there, how long silent, who should take no more work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.jobs.server_state import ServerState, server_state
from leitstand.nearest import no_such
from leitstand.store.database import Database, load_queries

queries = load_queries(__file__)

FORGET_AFTER = 86400.0
"""Seconds after which a silent server that holds nothing is no longer listed."""


@dataclass(frozen=True)
class ServerInfo:
    """A control server as others see it; ``silent_for`` and ``clock_skew`` are seconds."""

    instance: str
    host: str
    pid: int
    version: str
    started_at: datetime
    heartbeat_at: datetime
    silent_for: float
    clock_skew: float
    draining: bool
    max_concurrent_runs: int
    running: int
    state: ServerState = ServerState.ALIVE

    def as_dict(self) -> dict[str, Any]:
        """The server's JSON shape."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Servers:
    """Control servers, by instance; ``heartbeat`` and ``stale_after`` are what they all keep to."""

    def __init__(
        self, database: Database, heartbeat: float = 30.0, stale_after: float = 300.0
    ) -> None:
        self._database = database
        self._heartbeat = heartbeat
        self._stale_after = stale_after

    async def register(  # noqa: PLR0913 -- each is a separate fact
        self,
        instance: str,
        host: str,
        pid: int,
        version: str,
        max_concurrent_runs: int,
        *,
        draining: bool = False,
    ) -> None:
        """Add this server under a name that no other process has or had."""
        async with self._database.connection() as connection:
            await queries.forget_dead(connection, silent=FORGET_AFTER)
            await queries.register(
                connection,
                instance=instance,
                host=host,
                pid=pid,
                version=version,
                max_concurrent_runs=max_concurrent_runs,
                draining=draining,
            )

    async def deregister(self, instance: str, deadline: float | None = None) -> None:
        """Take a server that has ended out of the list; its leases expire by themselves."""
        async with self._database.connection(deadline) as connection:
            await queries.deregister(connection, instance=instance)

    async def list_all(self) -> list[ServerInfo]:
        """All servers that have been seen within a day, oldest first."""
        async with self._database.connection() as connection:
            return [self._seen(row) async for row in queries.list_servers(connection)]

    def _seen(self, row: Mapping[str, Any]) -> ServerInfo:
        state = server_state(row["silent_for"], row["draining"], self._heartbeat, self._stale_after)
        stored = {name: row[name] for name in ServerInfo.__dataclass_fields__ if name != "state"}
        return ServerInfo(**stored, state=state)

    async def drain(self, instance: str) -> None:
        """Ask a server to claim nothing more; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.drain(connection, instance=instance)
        if row is None:
            names = [server.instance for server in await self.list_all()]
            raise no_such("control server", instance, names, "See `leitstand server list`.")
