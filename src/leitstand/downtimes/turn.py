"""Lets one of several control servers consume: a lock in the control database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b

import psycopg

from leitstand.downtimes.feed import FeedError, QueueTakenError
from leitstand.store.connection import connection_options

DEADLINE = 5.0


class DatabaseTurn:
    """An advisory lock for a queue, held by a connection of its own.

    If the connection is lost meanwhile, two servers may consume for a while. Then order is what
    the ledger makes of it: final rows stay the same.
    """

    def __init__(self, conninfo: str, queue: str) -> None:
        self._conninfo = conninfo
        digest = blake2b(f"leitstand downtimes {queue}".encode(), digest_size=8).digest()
        self._lock = int.from_bytes(digest, "big", signed=True)
        self._queue = queue

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Keep the lock. Raises QueueTakenError while another has it."""
        try:
            connection = await psycopg.AsyncConnection.connect(
                self._conninfo, **connection_options(DEADLINE)
            )
        except psycopg.Error as error:
            raise FeedError(
                "the control database does not answer", detail=str(error).strip()
            ) from error
        try:
            await self._take(connection)
            yield
        finally:
            await connection.close()

    async def _take(self, connection: psycopg.AsyncConnection) -> None:
        try:
            row = await connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock,))
            taken = await row.fetchone()
        except psycopg.Error as error:
            raise FeedError(
                "the control database does not answer", detail=str(error).strip()
            ) from error
        if taken != (True,):
            raise QueueTakenError(f"another control server consumes from {self._queue}")
