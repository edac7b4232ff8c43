"""Publishes messages to whoever listens, at any control server."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
import structlog

from leitstand.errors import LeitstandError
from leitstand.live.message_ledger import MessageLedger
from leitstand.store.database import Connection, Database

log = structlog.get_logger(__name__)


class Broadcast:
    """What is published is kept for a while, for clients that were away; then it is gone."""

    def __init__(self, database: Database, ledger: MessageLedger) -> None:
        self._database = database
        self._ledger = ledger

    async def publish(self, topic: str, message: Mapping[str, Any]) -> None:
        """Publish one message; that it cannot be is logged, and no reason to fail."""
        try:
            await self.publish_all(topic, [message])
        except (LeitstandError, psycopg.Error) as error:
            log.warning("a message was not published", topic=topic, error=str(error).strip())

    async def publish_all(self, topic: str, messages: Sequence[Mapping[str, Any]]) -> None:
        """Publish messages in this order; raises what the database raises."""
        async with self._database.transaction() as connection:
            await self.publish_in(connection, topic, *messages)

    async def publish_in(
        self, connection: Connection, topic: str, *messages: Mapping[str, Any]
    ) -> None:
        """Publish when the caller's transaction commits, or not at all.

        Let it be the last thing before the commit: nobody else can publish in between.
        """
        await self._ledger.append_in(connection, topic, messages)
