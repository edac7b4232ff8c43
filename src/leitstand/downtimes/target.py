"""The database with the downtime tables: opened by URL, examined, spoken with in transactions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import psycopg
from sqlalchemy import Table, insert, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from leitstand.downtimes.database_fault import Fault, fault_of, reason_of
from leitstand.downtimes.layout import Layout, TablesError, missing_own, read_layout
from leitstand.downtimes.ledger import GATE_ROW, Ledger
from leitstand.downtimes.rows import Rows
from leitstand.downtimes.tables import GATE, LEDGER, NEWS, OWN, STATUSENGINE, is_mysql, metadata
from leitstand.errors import LeitstandError, UnavailableError, UsageError

DEADLINE = 60.0
"""Seconds for one transaction; a batch takes milliseconds."""

DRIVERS = {
    "mysql": "mysql+asyncmy",
    "mariadb": "mysql+asyncmy",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


class DowntimeDatabaseError(UnavailableError):
    """The database with the downtime tables does not answer, or not now."""

    code = "DOWNTIME_DATABASE"


class MessageRefusedError(LeitstandError):
    """The database cannot hold a value of one of the events that it was given."""

    code = "DOWNTIME_MESSAGE"


@dataclass(frozen=True)
class Opened:
    """What is known of the tables once they were looked at."""

    layout: Layout
    ledger: Ledger
    rows: Rows


class Target:
    """The database, whose tables are examined when it is first used.

    It may be away when this is made: every use tries anew. ``makes_tables``: it is Leitstand's own
    database, in which tables that are missing are simply made.
    """

    def __init__(self, engine: AsyncEngine, *, makes_tables: bool) -> None:
        self.engine = engine
        self._makes_tables = makes_tables
        self._opened: Opened | None = None

    async def prepare(self) -> Opened:
        """Look at the tables, and make those of Leitstand's own if they are missing.

        Raises DowntimeDatabaseError while the server is away, and TablesError when a table or a
        privilege is missing: then nothing but a person can help.
        """
        if self._opened is None:
            if self._makes_tables:
                await self._make((*STATUSENGINE, *OWN))
            elif await self._lacks_own():
                await self._make(OWN)
            async with self.transaction() as connection:
                layout = await read_layout(connection)
                await _refuse_missing_privileges(connection)
            self._opened = Opened(layout, Ledger(layout.folds_case), Rows(layout))
        return self._opened

    async def create_tables(self) -> list[str]:
        """Make the tables that are missing; the names of all of them. Existing ones stay as is."""
        await self._make((*STATUSENGINE, *OWN))
        return [table.name for table in (*STATUSENGINE, *OWN)]

    async def _lacks_own(self) -> bool:
        async with self.transaction() as connection:
            return bool(await missing_own(connection))

    async def _make(self, tables: Sequence[Table]) -> None:
        """Make what is missing. Who starts at the same moment may be faster with any of them."""
        for _ in tables:
            with suppress(TablesError, MessageRefusedError):
                await self._create(tables)
                return
        await self._create(tables)

    async def _create(self, tables: Sequence[Table]) -> None:
        async with self.transaction() as connection:
            await connection.run_sync(metadata.create_all, tables=list(tables), checkfirst=True)
            if not (await connection.execute(select(GATE.c.id))).all():
                await connection.execute(insert(GATE).values(id=GATE_ROW))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A transaction, committed at the end, within a deadline.

        Raises DowntimeDatabaseError for what may succeed later, MessageRefusedError for values
        that the tables cannot hold, TablesError for what people must mend.
        """
        try:
            async with asyncio.timeout(DEADLINE), self.engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise _translated(error) from error
        except (OSError, TimeoutError, psycopg.Error) as error:
            raise DowntimeDatabaseError(
                "the downtime database does not answer", detail=reason_of(error)
            ) from error


@asynccontextmanager
async def open_target(url: str) -> AsyncIterator[Target]:
    """A target by its URL: mysql://, mariadb:// or postgresql://. Raises UsageError for others."""
    async with _disposed(_engine(url)) as engine:
        yield Target(engine, makes_tables=False)


@asynccontextmanager
async def open_control_target(conninfo: str) -> AsyncIterator[Target]:
    """The control database as the target; ``conninfo`` as psycopg takes it."""

    async def connect() -> psycopg.AsyncConnection[tuple[object, ...]]:
        return await psycopg.AsyncConnection.connect(conninfo, connect_timeout=10)

    creator: Callable[[], Awaitable[object]] = connect
    engine = create_async_engine(
        "postgresql+psycopg://", async_creator=creator, pool_pre_ping=True, pool_size=4
    )
    async with _disposed(engine):
        yield Target(engine, makes_tables=True)


def check_url(url: str) -> None:
    """Raise UsageError unless ``open_target`` understands it."""
    _engine(url)


def _engine(given: str) -> AsyncEngine:
    try:
        url = make_url(given)
    except ArgumentError as error:
        raise UsageError("it is no database URL", remedy=_URL_HELP) from error
    driver = DRIVERS.get(url.get_backend_name())
    if driver is None:
        raise UsageError(f"{url.get_backend_name()} is no database for it", remedy=_URL_HELP)
    url = url.set(drivername=driver)
    arguments: dict[str, object] = {"connect_timeout": 10}
    if is_mysql(url.get_backend_name()):
        arguments["charset"] = "utf8mb4"
    # The check before each use costs a round trip and spares an error after every idle hour.
    return create_async_engine(url, connect_args=arguments, pool_pre_ping=True, pool_size=4)


_URL_HELP = "mysql://user:password@host/database or postgresql://user:password@host/database."


@asynccontextmanager
async def _disposed(engine: AsyncEngine) -> AsyncIterator[AsyncEngine]:
    try:
        yield engine
    finally:
        await engine.dispose()


def _translated(error: DBAPIError) -> LeitstandError:
    reason = reason_of(error)
    match fault_of(error):
        case Fault.MESSAGE:
            return MessageRefusedError("the downtime database refused a value", detail=reason)
        case Fault.SETUP:
            return TablesError(
                f"the downtime database does not allow what is needed: {reason}",
                remedy="The user of downtimes.database_url must exist and may SELECT, INSERT,"
                " UPDATE and DELETE in the tables. `leitstand downtime create-tables`, with a user"
                " that may CREATE, makes tables that are missing.",
            )
    return DowntimeDatabaseError("the downtime database does not answer", detail=reason)


async def _refuse_missing_privileges(connection: AsyncConnection) -> None:
    """Statements that change nothing: the server checks privileges before it looks for rows."""
    for table in (*STATUSENGINE, LEDGER, NEWS):
        column = table.columns.values()[0].name
        for statement in (
            f"INSERT INTO {table.name} SELECT * FROM {table.name} WHERE 1 = 0",  # noqa: S608
            f"UPDATE {table.name} SET {column} = {column} WHERE 1 = 0",  # noqa: S608
            f"DELETE FROM {table.name} WHERE 1 = 0",  # noqa: S608
        ):
            await connection.execute(text(statement))
