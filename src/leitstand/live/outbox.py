"""Collects what a server knows and publishes it in batches, if anybody wants to hear it."""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

import psycopg
import structlog

from leitstand.errors import LeitstandError
from leitstand.live.broadcast import Broadcast
from leitstand.live.message_ledger import MessageLedger

log = structlog.get_logger(__name__)

PAUSE = 0.1
"""Seconds for which messages gather."""

MOST = 10_000
"""Messages that wait while the database is away; the oldest give way."""


class Outbox:
    """Messages of one topic. While nobody listens they cost one short question a batch."""

    def __init__(self, topic: str, broadcast: Broadcast, ledger: MessageLedger) -> None:
        self._topic = topic
        self._broadcast = broadcast
        self._ledger = ledger
        self._waiting: deque[Mapping[str, Any]] = deque(maxlen=MOST)
        self._filled = asyncio.Event()

    def add(self, message: Mapping[str, Any]) -> None:
        """Publish it soon; never blocks, never fails."""
        self._waiting.append(message)
        self._filled.set()

    async def run(self) -> None:
        """Publish until cancelled."""
        while True:
            await self._filled.wait()
            await asyncio.sleep(PAUSE)
            self._filled.clear()
            await self.flush()

    async def flush(self) -> None:
        """Publish what waits. What cannot be published is lost: it is news, not history."""
        batch = list(self._waiting)
        self._waiting.clear()
        try:
            if batch and await self._ledger.wanted(self._topic):
                await self._broadcast.publish_all(self._topic, batch)
        except (LeitstandError, psycopg.Error) as error:
            log.warning("news was lost", topic=self._topic, error=str(error).strip())
