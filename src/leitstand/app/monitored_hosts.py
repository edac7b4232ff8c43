"""Answers jobs and alerts what is in downtime, from tables that are opened on first need."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Self

from leitstand.alerts import Place
from leitstand.jobs import Window
from leitstand.settings import Settings
from leitstand.store.database import Database

if TYPE_CHECKING:
    from leitstand.downtimes import MonitoredHosts, Target

TABLE = "statusengine_host_scheduleddowntimes"


class LateHostDowntimes:
    """The downtimes of hosts; ``async with`` closes what a question has opened.

    Most commands never ask, since no job is bound to a host, and the drivers of other people's
    databases take 0.3 s to load. Without settings for downtimes the control database is asked only
    once it has the tables, as after `leitstand downtime ingest`.
    """

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._target: Target | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._stack.aclose()

    async def windows_for(self, hosts: Collection[str]) -> Sequence[Window]:
        """The downtimes of these hosts as windows."""
        monitored = await self._monitored()
        return () if monitored is None else await monitored.windows_for(hosts)

    async def covering(self, places: Collection[Place]) -> Mapping[Place, str]:
        """The places that a running downtime covers, each with its name."""
        monitored = await self._monitored()
        return {} if monitored is None else await monitored.covering(places, time.time())

    async def target(self) -> "Target":
        """The database with the tables, for whoever needs it in any case."""
        async with self._opening:
            if self._target is None:
                self._target = await self._open()
            return self._target

    async def _monitored(self) -> "MonitoredHosts | None":
        if self._target is None and not await self._are_monitored():
            return None
        # Imported here: see above.
        from leitstand.downtimes import MonitoredHosts, Views  # noqa: PLC0415

        return MonitoredHosts(Views(await self.target()))

    async def _are_monitored(self) -> bool:
        downtimes = self._settings.downtimes
        if downtimes.source.get_secret_value() or downtimes.database_url.get_secret_value():
            return True
        async with self._database.connection() as connection:
            found = await connection.execute(
                "SELECT to_regclass(%s) IS NOT NULL AS there", (TABLE,)
            )
            row = await found.fetchone()
        return row is not None and bool(row["there"])

    async def _open(self) -> "Target":
        # Imported here: see above; in a thread, as a server has other things to do meanwhile.
        wiring = await asyncio.to_thread(import_module, "leitstand.app.downtime_wiring")
        target = wiring.downtime_target(self._settings, self._database.conninfo)
        opened: Target = await self._stack.enter_async_context(target)
        return opened
