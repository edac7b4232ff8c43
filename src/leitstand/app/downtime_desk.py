"""Answers the API and the pages about downtimes, from tables that are opened on first need."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from leitstand.app.monitored_hosts import LateHostDowntimes
from leitstand.events import EventQueue
from leitstand.live import Broadcast
from leitstand.settings import Settings
from leitstand.store.database import Database

if TYPE_CHECKING:
    from leitstand.app.downtime_wiring import Downtimes
    from leitstand.downtimes import Counts, DeadLetters, Views


class Around(Protocol):
    """What of a control server downtimes need."""

    @property
    def settings(self) -> Settings:
        """The settings in effect."""

    @property
    def database(self) -> Database:
        """The control database."""

    @property
    def downtimes(self) -> LateHostDowntimes:
        """Opens the tables."""

    @property
    def broadcast(self) -> Broadcast:
        """The way to who listens."""

    @property
    def events(self) -> EventQueue:
        """Leitstand's own events."""


class LateDowntimeDesk:
    """A ``DowntimeDesk``; what it opens, ``around.downtimes`` closes."""

    def __init__(self, around: Around) -> None:
        self._around = around

    async def views(self) -> "Views":
        """Answers questions from the tables."""
        return (await self._downtimes()).views

    async def dead_letters(self) -> "DeadLetters":
        """The messages that could not be used."""
        return (await self._downtimes()).dead_letters

    async def replay(self, letter_id: int) -> "Counts":
        """Take a dead letter in again. Raises NotFoundError."""
        return await (await self._downtimes()).replay([letter_id])

    async def _downtimes(self) -> "Downtimes":
        # Imported late, and in a thread: see LateHostDowntimes.
        wiring = await asyncio.to_thread(import_module, "leitstand.app.downtime_wiring")
        opened: Downtimes = await wiring.downtimes_of(self._around)
        return opened
