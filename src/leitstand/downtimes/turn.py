"""Lets one of several control servers consume: a lock in the control database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from hashlib import blake2b

import psycopg

from leitstand.downtimes.feed import FeedError, QueueTakenError
from leitstand.store.connection import connection_options

DEADLINE = 5.0


class DatabaseTurn:
    """An advisory lock for a queue, held by a connection of its own.

    If the connection is lost meanwhile, two servers may consume until the one that lost it looks.
    Then order is what the ledger makes of it: final rows stay the same.
    """

    def __init__(self, conninfo: str, queue: str) -> None:
        self._conninfo = conninfo
        digest = blake2b(f"leitstand downtimes {queue}".encode(), digest_size=8).digest()
        self._lock = int.from_bytes(digest, "big", signed=True)
        self._queue = queue

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Keep the lock; gives what raises FeedError once the connection was lost, and the lock.

        Raises QueueTakenError while another has it.
        """
        with _translated():
            connection = await psycopg.AsyncConnection.connect(
                self._conninfo, **connection_options(DEADLINE)
            )
        try:
            await self._take(connection)
            yield partial(_ask, connection)
        finally:
            await connection.close()

    async def _take(self, connection: psycopg.AsyncConnection) -> None:
        with _translated():
            row = await connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock,))
            taken = await row.fetchone()
        if taken != (True,):
            raise QueueTakenError(f"another control server consumes from {self._queue}")


async def _ask(connection: psycopg.AsyncConnection) -> None:
    with _translated():
        async with asyncio.timeout(DEADLINE):
            await connection.execute("SELECT 1")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, TimeoutError) as error:
        raise FeedError(
            "the control database does not answer", detail=str(error).strip() or None
        ) from error
