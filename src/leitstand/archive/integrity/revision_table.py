"""Reads ``file_revisions`` of an application's database; the only code that does, and never writes.

The table is read once through in byte order of the keys, with a cursor on the server, so that
neither side holds all of it. Every wait for the next rows has the deadline, not the whole reading.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Self

from sqlalchemy import bindparam, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncResult

from leitstand.archive.integrity.key_order import KeyColumn, describe_column, key_order
from leitstand.archive.integrity.revision import Revision, RevisionPage
from leitstand.archive.integrity.revision_address import RevisionAddress
from leitstand.archive.integrity.revision_rows import numbers, page_of, revisions_of, start_of_last
from leitstand.errors import LeitstandError, NotFoundError, UnavailableError
from leitstand.foreign_database import error_number

PAGE = 1_000
"""Rows that are fetched at a time."""

KEYS_AT_ONCE = 500
"""Keys that one question names."""


class RevisionsUnavailableError(UnavailableError):
    """The database with the revisions does not answer, or not within the deadline."""

    code = "REVISIONS_UNAVAILABLE"


class RevisionsUnfitError(LeitstandError):
    """The table of revisions is not as it has to be."""

    code = "REVISIONS_UNFIT"


class RevisionTable:
    """The revisions behind an address; ``async with`` opens and closes the way to them."""

    def __init__(self, address: RevisionAddress, deadline: float) -> None:
        self._address = address
        self._deadline = deadline
        self._engine = address.engine()
        quote = self._engine.dialect.identifier_preparer.quote
        schema, name = address.table_parts
        self._name = ".".join(quote(part) for part in (schema, name) if part)
        self._column = KeyColumn("text")

    async def __aenter__(self) -> Self:
        async with self._reading() as connection:
            self._column = await self._described(connection)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._engine.dispose()

    async def count(self, limit: int) -> int:
        """How many rows there are; ``limit`` if there are more. Raises as ``pages``."""
        statement = text(
            f"SELECT count(*) FROM (SELECT 1 FROM {self._name} LIMIT :limit) AS first_rows"  # noqa: S608 - the name is quoted
        )
        async with self._reading() as connection, asyncio.timeout(self._deadline):
            counted = await connection.scalar(statement, {"limit": limit})
        return int(counted or 0)

    async def pages(self, *, checksums: bool = False) -> AsyncGenerator[RevisionPage]:
        """All revisions in byte order; of several with one key the one with the least numbers.

        The checksum is read if asked for. Raises RevisionsUnavailableError, RevisionsUnfitError.
        """
        order = key_order(self._engine.dialect.name, self._column)
        statement = text(f"{self._select(checksums=checksums)} ORDER BY {order}")
        async with self._reading() as connection:
            async with asyncio.timeout(self._deadline):
                result = await connection.stream(statement, execution_options={"yield_per": PAGE})
            try:
                async for page in self._paged(result):
                    yield page
            finally:
                await result.close()

    async def _paged(self, result: AsyncResult[Any]) -> AsyncIterator[RevisionPage]:
        partitions = result.partitions(PAGE)
        held: list[Revision] = []
        while True:
            async with asyncio.timeout(self._deadline):
                rows = await anext(partitions, None)
            if rows is None:
                break
            read = held + revisions_of(rows)
            # The last key's further rows may be on the next page.
            cut = start_of_last(read)
            held = read[cut:]
            if cut:
                yield page_of(read[:cut])
        if held:
            yield page_of(held)

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, list[Revision]]:
        """The revisions that have these keys now, in a reading of their own."""
        found: dict[bytes, list[Revision]] = defaultdict(list)
        statement = text(f"{self._select(checksums=True)} WHERE storage_key IN :keys").bindparams(
            bindparam("keys", expanding=True)
        )
        wanted = set(keys)
        async with self._reading() as connection:
            for values in _chunks(self._values(keys), KEYS_AT_ONCE):
                async with asyncio.timeout(self._deadline):
                    rows = (await connection.execute(statement, {"keys": values})).all()
                # A collation may find more than was asked for: A.bin for a.bin.
                for revision in revisions_of(rows):
                    if revision.storage_key in wanted:
                        found[revision.storage_key].append(revision)
        return {key: sorted(rows, key=numbers) for key, rows in found.items()}

    def _select(self, *, checksums: bool) -> str:
        columns = "storage_key, document_id, id" + (", checksum_sha256" if checksums else "")
        return f"SELECT {columns} FROM {self._name}"  # noqa: S608 - the name is quoted

    def _values(self, keys: Iterable[bytes]) -> Iterator[str | bytes]:
        """Keys as the column has them; one that its type cannot hold is in no row."""
        for key in keys:
            if self._column.is_binary:
                yield key
            elif b"\0" not in key:
                try:
                    yield key.decode()
                except UnicodeDecodeError:
                    continue

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that reads only; errors of the driver become ours, without secrets."""
        try:
            async with asyncio.timeout(self._deadline):
                connection = await self._engine.connect()
            try:
                await self._forbid_writing(connection)
                yield connection
            finally:
                await asyncio.shield(connection.close())
        except TimeoutError:
            raise RevisionsUnavailableError(
                f"the database of the objects did not answer within {self._deadline:g} s",
                remedy="An index on storage_key helps; objects.timeout may be raised.",
            ) from None
        except (SQLAlchemyError, OSError) as error:
            raise self._failure(error) from None  # its traceback may show the URL

    async def _forbid_writing(self, connection: AsyncConnection) -> None:
        if self._engine.dialect.name == "postgresql":
            await connection.execution_options(postgresql_readonly=True)
        elif self._engine.dialect.name == "mysql":
            await connection.execute(text("SET SESSION TRANSACTION READ ONLY"))
            await connection.rollback()

    def _failure(self, error: Exception) -> LeitstandError:
        said = self._address.said(error)
        if isinstance(error, DBAPIError) and not error.connection_invalidated:
            state = getattr(error.orig, "sqlstate", None)
            if state == "42P01" or error_number(error) == 1146:
                return self._no_table(said)
            if state in ("42703", "42501") or error_number(error) in (1054, 1142, 1143):
                return RevisionsUnfitError(
                    f"the table {self._address.table} cannot be read",
                    detail=said,
                    remedy="It needs the columns storage_key, document_id, id and checksum_sha256,"
                    " and the right to SELECT.",
                )
        refuses = self._address.is_refusing(error)
        what = "refuses the connection" if refuses else "does not answer"
        return RevisionsUnavailableError(
            f"the database of the objects {what}",
            detail=said,
            remedy="See that it runs, and that objects.database_url is right.",
        )

    def _no_table(self, said: str | None = None) -> NotFoundError:
        return NotFoundError(
            f"there is no table {self._address.table} with a column storage_key",
            detail=said,
            remedy="Set objects.database_url and objects.table to where the application keeps its"
            " revisions, or try it first: leitstand demo archive",
        )

    async def _described(self, connection: AsyncConnection) -> KeyColumn:
        async with asyncio.timeout(self._deadline):
            column = await connection.run_sync(describe_column, self._address, self._name)
        if column is None:
            raise self._no_table()
        return column


def _chunks(values: Iterator[str | bytes], size: int) -> Iterator[list[str | bytes]]:
    while chunk := list(islice(values, size)):
        yield chunk
