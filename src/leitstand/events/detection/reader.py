"""Reads log tables of other programs' databases; never writes, and never within a transaction.

Every statement is one of its own, so that none sees old data, and selects by primary key alone.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, cast

import psycopg
from sqlalchemy import text
from sqlalchemy.exc import DataError, DBAPIError, ProgrammingError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.errors import LeitstandError, NotFoundError, UnavailableError
from leitstand.events.detection.evidence import SETTLED, Verdict, by_age, by_holders, by_locks
from leitstand.events.detection.gap import Gap
from leitstand.events.detection.lenient_times import read_times_leniently
from leitstand.events.detection.log_table import MESSAGE_LIMIT, LogRow, LogTable
from leitstand.foreign_database import ForeignDatabase, error_number

DEADLINE = 30.0
"""Seconds for one statement."""

READ_OF_MESSAGE = MESSAGE_LIMIT + 50
"""Characters of a message that are read: a trace may have a megabyte."""

RANGES_AT_ONCE = 100
"""Gaps that one statement asks for."""

PROBES = 200
"""Questions about locks in one run at most; what is left is asked in the next."""

COPIED_LIMIT = 4_000
"""Characters of a column that a payload copies."""

TIME_LIMIT = 100
"""Characters of a time; its column may hold anything."""

COLUMN_TYPE = {
    "postgresql": "SELECT data_type AS type FROM information_schema.columns"
    " WHERE table_schema = coalesce(CAST(:schema AS text), current_schema())"
    " AND table_name = :table AND column_name = :column",
    "mysql": "SELECT column_type AS type FROM information_schema.columns"
    " WHERE table_schema = coalesce(:schema, database())"
    " AND table_name = :table AND column_name = :column",
}

INT32 = 2**31 - 1
UINT32 = 2**32 - 1


class SourceUnavailableError(UnavailableError):
    """The application's database does not answer, or its table is not there at the moment."""

    code = "SOURCE_UNAVAILABLE"


class SourceUnfitError(LeitstandError):
    """The table is not as the configuration says."""

    code = "SOURCE_UNFIT"


class Reader:
    """A connection to the database of a log table. ``settled``: see ``SETTLED``."""

    def __init__(
        self, table: LogTable, connection: AsyncConnection, settled: float = SETTLED.total_seconds()
    ) -> None:
        self._table = table
        self._connection = connection
        self._settled = settled
        self._dialect = connection.dialect.name
        quote = connection.dialect.identifier_preparer.quote
        self._quote = quote
        self._name = ".".join(quote(part) for part in table.table.split("."))
        self._id = quote(table.columns.id)

    @property
    def keeps_gaps(self) -> bool:
        """Whether rows can become visible out of order: not with a single writer."""
        return self._dialect != "sqlite"

    # -- rows ---------------------------------------------------------------------------------

    async def page(self, after: int, limit: int) -> list[LogRow]:
        """The next rows above an id, in order; of types that are no events only the ids."""
        return self._rows(await self._ask(self._select(f"{self._id} > :after", limit), after=after))

    async def rows_in(self, gaps: Sequence[Gap], limit: int) -> tuple[list[LogRow], list[Gap]]:
        """The rows that are there within gaps, and the gaps of which that is all that is there.

        At most ``limit`` rows are read for each RANGES_AT_ONCE gaps.
        """
        found: list[LogRow] = []
        seen: list[Gap] = []
        for start in range(0, len(gaps), RANGES_AT_ONCE):
            asked = gaps[start : start + RANGES_AT_ONCE]
            rows = await self._ask(self._select(self._within(asked), limit))
            found += self._rows(rows)
            if len(rows) < limit:
                seen += asked
        return found, seen

    async def prints(self, ids: Sequence[int]) -> dict[int, str]:
        """The fingerprints of the rows with these ids, as far as they are there."""
        if not ids:
            return {}
        listed = ", ".join(str(int(number)) for number in ids)
        statement = self._select(f"{self._id} IN ({listed})", len(ids), all_types=True)
        return {row.id: self._table.print_of(row) for row in self._rows(await self._ask(statement))}

    async def newest(self, count: int) -> list[LogRow]:
        """The rows with the highest ids, lowest first."""
        statement = self._select("1 = 1", count, "DESC", all_types=True)
        return self._rows(await self._ask(statement))[::-1]

    async def highest(self) -> int:
        """The highest id; 0 for an empty table."""
        rows = await self._ask(f"SELECT max({self._id}) AS highest FROM {self._name}")  # noqa: S608 - quoted
        return self._number_of(rows[0]["highest"] or 0)

    async def clock(self) -> float | None:
        """The server's time in seconds since 1970; None: it is this machine's."""
        match self._dialect:
            case "sqlite":
                return None
            case "mysql":
                asked = "UNIX_TIMESTAMP(SYSDATE(6))"
            case _:
                asked = "extract(EPOCH FROM clock_timestamp())"
        return float((await self._ask(f"SELECT {asked} AS seconds"))[0]["seconds"])

    async def id_limit(self) -> int | None:
        """The highest id that the column can hold, when it has 32 bits; None: more, or unknown."""
        if self._dialect == "sqlite":
            return None
        schema, _, table = self._table.table.rpartition(".")
        rows = await self._ask(
            COLUMN_TYPE[self._dialect],
            schema=schema or None,
            table=table,
            column=self._table.columns.id,
        )
        declared = str(rows[0]["type"]).lower() if rows else ""
        if not declared.startswith("int"):
            return None
        return UINT32 if "unsigned" in declared else INT32

    # -- evidence -----------------------------------------------------------------------------

    async def holders(self) -> frozenset[str] | None:
        """PostgreSQL: the transactions that may have written to the table; None elsewhere."""
        if self._dialect != "postgresql":
            return None
        rows = await self._ask(
            "SELECT DISTINCT virtualtransaction AS holder FROM pg_locks"
            " WHERE relation = to_regclass(:name) AND mode = 'RowExclusiveLock' AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            name=self._name,
        )
        return frozenset(str(row["holder"]) for row in rows)

    async def judge(
        self, gaps: Sequence[Gap], holders: frozenset[str] | None, now: datetime
    ) -> Verdict:
        """What becomes of gaps that are missing in a snapshot later than ``holders``."""
        if await self._is_replica():
            return by_age(gaps, now)
        if holders is not None:
            return by_holders(gaps, holders, now)
        if not self.keeps_gaps:
            return Verdict(list(gaps), [], [])
        settled = [gap for gap in gaps if (now - gap.seen_at).total_seconds() >= self._settled]
        try:
            free = await _Probing(self).free(settled)
        except SourceUnfitError:  # no right to lock a row
            return by_age(gaps, now)
        return by_locks(gaps, free, now)

    async def may_come(self, gaps: Sequence[Gap]) -> bool:
        """Whether a transaction works on any of these ids, or has just brought it (MariaDB, MySQL).

        A row may have been committed since the snapshot that missed it: it is there, not dead. The
        statement sets no lock that lasts: a transaction of its own, READ COMMITTED.
        """
        hint = "NOWAIT" if getattr(self._connection.dialect, "is_mariadb", False) else ""
        statement = (
            f"SELECT {self._id} FROM {self._name} FORCE INDEX (PRIMARY)"  # noqa: S608 - quoted
            f" WHERE {self._within(gaps)} LOCK IN SHARE MODE {hint}"
        )
        try:
            return bool(await self._execute(statement, {}))
        except DBAPIError as error:
            if error_number(error) in (1205, 1213, 3572):  # it waits, or would wait in a circle
                return True
            raise

    async def _is_replica(self) -> bool:
        if self._dialect == "sqlite":
            return False
        asked = "@@read_only" if self._dialect == "mysql" else "pg_is_in_recovery()"
        rows = await self._ask(f"SELECT {asked} AS replica")
        # Of MariaDB 12 it is a word.
        return str(rows[0]["replica"]).upper() not in ("0", "OFF", "FALSE")

    # -- statements ---------------------------------------------------------------------------

    def _select(
        self, where: str, limit: int, order: str = "ASC", *, all_types: bool = False
    ) -> str:
        columns = self._columns(all_types=all_types)
        return (
            f"SELECT {columns} FROM {self._name} WHERE {where}"  # noqa: S608 - names are quoted
            f" ORDER BY {self._id} {order} LIMIT {int(limit)}"
        )

    def _columns(self, *, all_types: bool = False) -> str:
        columns = self._table.columns
        wanted = "1 = 1" if all_types else self._wanted()
        chosen = {
            "log_type": columns.type and f"CAST({self._quote(columns.type)} AS CHAR(64))",
            "log_time": columns.time and self._quote(columns.time),
            "log_message": columns.message and self._beginning(columns.message),
        }
        parts = [f"{self._id} AS log_id"]
        for name, expression in chosen.items():
            if expression:
                parts.append(f"CASE WHEN {wanted} THEN {expression} END AS {name}")
        for number, column in enumerate(columns.copied):
            parts.append(f"CASE WHEN {wanted} THEN {self._quote(column)} END AS copied_{number}")
        return ", ".join(parts)

    def _wanted(self) -> str:
        types = sorted(self._table.types)
        if not (types and self._table.columns.type):
            return "1 = 1"
        listed = ", ".join(
            "'" + kind.replace("'", "''").replace(":", "\\:") + "'" for kind in types
        )
        return f"{self._quote(self._table.columns.type)} IN ({listed})"

    def _beginning(self, column: str) -> str:
        """The beginning as bytes where the database may hold what is no text."""
        quoted = self._quote(column)
        match self._dialect:
            case "sqlite":
                return f"substr(CAST({quoted} AS BLOB), 1, {READ_OF_MESSAGE * 4})"
            case "mysql":
                part = f"CONVERT(LEFT({quoted}, {READ_OF_MESSAGE}) USING utf8mb4)"
                return f"CAST({part} AS BINARY)"
        return f"left(CAST({quoted} AS text), {READ_OF_MESSAGE})"

    def _within(self, gaps: Sequence[Gap]) -> str:
        ranges = (f"{self._id} BETWEEN {int(gap.first)} AND {int(gap.last)}" for gap in gaps)
        return "(" + " OR ".join(ranges) + ")"

    def _rows(self, rows: Sequence[Mapping[str, Any]]) -> list[LogRow]:
        copied = self._table.columns.copied
        return [
            LogRow(
                id=self._number_of(row["log_id"]),
                type=_text(row.get("log_type")).strip(),
                time=_time(row.get("log_time")),
                message=_text(row.get("log_message"))[:READ_OF_MESSAGE],
                copied={
                    column: _plain(row[f"copied_{number}"]) for number, column in enumerate(copied)
                },
            )
            for row in rows
        ]

    def _number_of(self, value: object) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(str(value))
        except ValueError:
            raise SourceUnfitError(
                f"{self._table.columns.id} of {self._table.table} is no whole number",
                remedy="The id column has to be the number of the row, which grows.",
            ) from None

    async def _ask(self, statement: str, **values: object) -> Sequence[Mapping[str, Any]]:
        try:
            return await self._execute(statement, values)
        except DBAPIError as error:
            raise _failure(self._table, error) from None  # its traceback may show the URL

    async def _execute(
        self, statement: str, values: Mapping[str, object]
    ) -> Sequence[Mapping[str, Any]]:
        async with asyncio.timeout(DEADLINE):
            result = await self._connection.execute(text(statement), values)
            return [dict(row) for row in result.mappings()] if result.returns_rows else []


class _Probing:
    """Finds the gaps that nobody fills by asking for many at once, and for halves where one is."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._left = PROBES

    async def free(self, gaps: Sequence[Gap]) -> list[Gap]:
        found: list[Gap] = []
        for start in range(0, len(gaps), RANGES_AT_ONCE):
            found += await self._free_of(gaps[start : start + RANGES_AT_ONCE])
        return found

    async def _free_of(self, gaps: Sequence[Gap]) -> list[Gap]:
        if not gaps or self._left <= 0:
            return []
        self._left -= 1
        try:
            taken = await self._reader.may_come(gaps)
        except DBAPIError as error:
            raise SourceUnfitError("rows cannot be locked", detail=str(error.orig)) from None
        if not taken:
            return list(gaps)
        if len(gaps) == 1:
            return []
        half = len(gaps) // 2
        return [*await self._free_of(gaps[:half]), *await self._free_of(gaps[half:])]


@asynccontextmanager
async def reading(
    table: LogTable, settled: float = SETTLED.total_seconds()
) -> AsyncIterator[Reader]:
    """A reader of the table; raises SourceUnavailableError, SourceUnfitError, NotFoundError."""
    database = ForeignDatabase(table.url, f"database_url of the detector {table.name}")
    engine = database.engine()
    try:
        async with asyncio.timeout(DEADLINE):
            connection = await engine.connect()
        try:
            async with asyncio.timeout(DEADLINE):
                connection = await connection.execution_options(isolation_level="AUTOCOMMIT")
                await _prepare(connection)
            yield Reader(table, connection, settled)
        finally:
            with contextlib.suppress(SQLAlchemyError, OSError):
                await asyncio.shield(connection.close())
    except TimeoutError:
        raise SourceUnavailableError(
            f"the database of {table.name} did not answer within {DEADLINE:g} s"
        ) from None
    except (SQLAlchemyError, OSError) as error:
        if isinstance(error, DBAPIError) and not error.connection_invalidated:
            raise _failure(table, error) from None
        raise _unavailable(table, database, error) from None
    finally:
        await engine.dispose()


async def _prepare(connection: AsyncConnection) -> None:
    """Times in UTC, and locks that neither wait nor spread."""
    match connection.dialect.name:
        case "mysql":
            await connection.execute(text("SET SESSION time_zone = '+00:00'"))
            await connection.execute(text("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
            await connection.execute(text("SET SESSION innodb_lock_wait_timeout = 1"))
        case "postgresql":
            await connection.execute(text("SET TIME ZONE 'UTC'"))
            await connection.execute(text("SET default_transaction_read_only = on"))
            raw = (await connection.get_raw_connection()).driver_connection
            read_times_leniently(cast("psycopg.AsyncConnection[Any]", raw))
        case "sqlite":  # it stores any bytes as text
            raw = (await connection.get_raw_connection()).driver_connection
            raw.text_factory = _text  # type: ignore[union-attr]  # aiosqlite's


def _failure(table: LogTable, error: DBAPIError) -> LeitstandError:
    database = ForeignDatabase(table.url, "")
    said = database.said(error)
    state, number = getattr(error.orig, "sqlstate", None), error_number(error)
    if state == "42P01" or number == 1146 or said.startswith("no such table"):
        return NotFoundError(
            f"there is no table {table.table} in the database of {table.name}",
            code="SOURCE_UNAVAILABLE",
            detail=said,
            remedy="See that the table's name and its prefix are right. What was read is not"
            " forgotten if it comes back.",
        )
    if said.startswith("unable to open database file"):
        return NotFoundError(
            f"the database file of {table.name} is not there, or may not be opened",
            code="SOURCE_UNAVAILABLE",
            detail=said,
            remedy="See that database_url names the file, from the root on: sqlite:////DIRECTORY/FILE.",
        )
    # Of PostgreSQL a type that its column, an enum or a number, cannot have is a DataError.
    if (
        isinstance(error, ProgrammingError | DataError)
        or number in (1054, 1142, 1143)
        or said.startswith("no such column")
    ):
        return SourceUnfitError(
            f"the table {table.table} of {table.name} cannot be read",
            detail=said,
            remedy="See that the columns' names and the events' types are right, and that the user"
            " may SELECT.",
        )
    return _unavailable(table, database, error)


def _unavailable(
    table: LogTable, database: ForeignDatabase, error: BaseException
) -> SourceUnavailableError:
    if database.is_refusing(error):
        return SourceUnavailableError(
            f"the database of {table.name} refuses the connection",
            detail=database.said(error),
            remedy="Unless it is only starting or full, see that user, password and database in"
            " database_url are right.",
        )
    return SourceUnavailableError(
        f"the database of {table.name} does not answer", detail=database.said(error)
    )


def _text(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return "" if value is None else str(value)


def _time(value: object) -> str | None:
    if isinstance(value, datetime):
        return value.isoformat() + ("Z" if value.tzinfo is None else "")
    return None if value is None else _text(value)[:TIME_LIMIT]


def _plain(value: object) -> object:
    """A value of any column as JSON has it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return _text(value)[:COPIED_LIMIT]
