"""The way to the control database: a pool whose every call has a deadline."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiosql
import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from leitstand.errors import UnavailableError
from leitstand.store.connection import Connection, connection_options, shut_down

__all__ = ["Connection", "Database", "DatabaseUnavailableError", "load_queries"]

GRACE = 0.1
"""Seconds after a deadline that the way out may take."""


class DatabaseUnavailableError(UnavailableError):
    """The control database did not answer within the deadline, or only as a read-only standby."""

    code = "DATABASE_UNAVAILABLE"


def load_queries(module_file: str) -> Any:  # noqa: ANN401 -- see below
    """The named queries of the ``.sql`` file beside ``module_file`` (a module's ``__file__``).

    One method for each name, made at run time, so no type can list them.
    """
    return aiosql.from_path(
        Path(module_file).with_suffix(".sql"), "apsycopg", mandatory_parameters=False
    )


class Database:
    """A pool of connections; ``async with Database(...)`` opens and closes it.

    A connection that met a timeout, an operational error or SQLSTATE 25006 (read-only: what was a
    primary is now a standby) is closed and never handed out again.
    """

    def __init__(self, conninfo: str, *, pool_size: int = 10, deadline: float = 5.0) -> None:
        self.conninfo = conninfo
        self.deadline = deadline
        self._pool = AsyncConnectionPool[Connection](
            conninfo,
            connection_class=Connection,
            kwargs={**connection_options(deadline), "row_factory": dict_row},
            min_size=1,
            max_size=pool_size,
            timeout=deadline,
            reconnect_timeout=0,
            configure=self._configure,
            open=False,
        )

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._pool.close(timeout=0.5)

    @asynccontextmanager
    async def connection(self, deadline: float | None = None) -> AsyncIterator[Connection]:
        """A connection in autocommit mode for at most ``deadline`` seconds, waiting included.

        Raises DatabaseUnavailableError when the time is over, the server is away, or it turned
        read-only; errors of the statements themselves pass through.
        """
        limit = self.deadline if deadline is None else deadline
        until = asyncio.get_running_loop().time() + limit
        try:
            async with (
                asyncio.timeout_at(until + GRACE),
                _no_cancellation_lost(self._pool.connection(limit)) as connection,
                _cut_off_at(until, connection),
                _closed_if_broken(connection),
                self._statement_timeout(connection, limit),
            ):
                yield connection
        except (TimeoutError, PoolTimeout) as error:
            raise DatabaseUnavailableError(
                f"the control database did not answer within {limit:g} s"
            ) from error
        except psycopg.errors.IdleInTransactionSessionTimeout as error:
            raise DatabaseUnavailableError(
                f"the transaction stood still for more than {self.deadline:g} s"
            ) from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise DatabaseUnavailableError("the control database is read-only") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            # One broken connection after a restart means that the idle ones are broken, too.
            await self._pool.drain()
            raise DatabaseUnavailableError(
                "the control database does not answer", detail=str(error).strip()
            ) from error

    @asynccontextmanager
    async def transaction(self, deadline: float | None = None) -> AsyncIterator[Connection]:
        """A connection inside one transaction: committed at the end, rolled back on any error."""
        async with self.connection(deadline) as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def pipelined_transaction(self) -> AsyncIterator[Connection]:
        """As ``transaction``; statements whose results nobody waits for share one round trip."""
        async with (
            self.connection() as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            yield connection

    async def round_trip(self) -> None:
        """Ask the server for an answer; raises DatabaseUnavailableError when none comes."""
        async with self.connection() as connection:
            await connection.execute("SELECT 1")

    @asynccontextmanager
    async def _statement_timeout(self, connection: Connection, limit: float) -> AsyncIterator[None]:
        """Let the server end statements after ``limit`` seconds, too, for this use only."""
        if limit == self.deadline:
            yield
            return
        await _set_statement_timeout(connection, limit)
        try:
            async with _closed_if_broken(connection):  # at once, so that nothing is set back
                yield
        finally:
            if connection.info.transaction_status == TransactionStatus.IDLE:
                await _set_statement_timeout(connection, self.deadline)
            else:  # broken, or in the middle of something that cannot be undone from here
                await connection.close()

    async def _configure(self, connection: Connection) -> None:
        """Have the server bound statements, and transactions that nobody goes on with.

        A process that is stopped in the middle of one, or cut off, would hold its locks for ever.
        """
        await _set_statement_timeout(connection, self.deadline)
        timeout = sql.Literal(f"{int(self.deadline * 1000)}ms")
        await connection.execute(
            sql.SQL("SET idle_in_transaction_session_timeout = {}").format(timeout)
        )


@asynccontextmanager
async def _no_cancellation_lost(
    pooled: AbstractAsyncContextManager[Connection],
) -> AsyncIterator[Connection]:
    """Enter ``pooled``; CancelledError also when the connection comes at the same moment.

    The pool waits by ``asyncio.wait_for``, which before Python 3.12 takes no notice of a
    cancellation then: whoever was to end would go on for as long as it likes.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    async with pooled as connection:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
        yield connection


BROKEN = (
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
    asyncio.CancelledError,
)


@asynccontextmanager
async def _cut_off_at(until: float, connection: Connection) -> AsyncIterator[None]:
    """Shut the connection's socket down at ``until`` (of the loop's clock).

    The end of the socket wakes whoever waits for the server, without a cancellation.
    """
    handle = asyncio.get_running_loop().call_at(until, shut_down, connection)
    try:
        yield
    finally:
        handle.cancel()


@asynccontextmanager
async def _closed_if_broken(connection: Connection) -> AsyncIterator[None]:
    """Close the connection after errors that it cannot be trusted after."""
    try:
        yield
    except BROKEN:
        await connection.close()
        raise


async def _set_statement_timeout(connection: Connection, seconds: float) -> None:
    timeout = sql.Literal(f"{int(seconds * 1000)}ms")
    await connection.execute(sql.SQL("SET statement_timeout = {}").format(timeout))
