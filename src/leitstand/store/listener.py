"""Receives PostgreSQL notifications, and says when some may have been lost."""

import asyncio
from collections.abc import Callable, Sequence

import psycopg
import structlog
from psycopg import sql

from leitstand.store.connection import Connection, connection_options

log = structlog.get_logger(__name__)

QUIET_LIMIT = 15.0
"""Seconds without a notification after which the connection is proved to be alive."""

LONGEST_PAUSE = 5.0
"""Seconds at most between two attempts to connect."""


class Listener:
    """Keeps one connection that LISTENs on ``channels`` and reconnects for as long as it runs.

    ``on_notify(channel, payload)`` is called for each notification. ``on_gap()`` is called after
    every connect, since notifications may have been sent while nobody listened: whoever relies on
    them must look at the tables then.
    """

    def __init__(
        self,
        conninfo: str,
        channels: Sequence[str],
        on_notify: Callable[[str, str], None],
        on_gap: Callable[[], None],
        deadline: float = 5.0,
    ) -> None:
        self._conninfo = conninfo
        self._channels = channels
        self._on_notify = on_notify
        self._on_gap = on_gap
        self._deadline = deadline
        self._pause = 0.1

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, OSError, TimeoutError) as error:
                log.warning("listening interrupted", error=str(error).strip(), pause=self._pause)
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    async def _listen_once(self) -> None:
        async with asyncio.timeout(self._deadline):
            connection = await Connection.connect(
                self._conninfo, **connection_options(self._deadline)
            )
        try:
            await self._subscribe(connection)
            self._pause = 0.1
            self._on_gap()
            await self._deliver(connection)
        finally:
            await connection.close()

    async def _subscribe(self, connection: Connection) -> None:
        async with asyncio.timeout(self._deadline):
            for channel in self._channels:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))

    async def _deliver(self, connection: Connection) -> None:
        while True:
            async for notify in connection.notifies(timeout=QUIET_LIMIT):
                self._on_notify(notify.channel, notify.payload)
            async with asyncio.timeout(self._deadline):
                await connection.execute("SELECT 1")
