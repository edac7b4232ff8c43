"""Reads times of PostgreSQL that Python's have no room for (infinity, BC) as text: one row that
holds one stops no other."""

from typing import Any, ClassVar

from psycopg import AsyncConnection, DataError
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader


def read_times_leniently(connection: AsyncConnection[Any]) -> None:
    """Have all times that are read from now on by this connection read so."""
    connection.adapters.register_loader("date", _LenientDate)
    connection.adapters.register_loader("timestamp", _LenientTimestamp)
    connection.adapters.register_loader("timestamptz", _LenientTimestamptz)


class _Lenient(Loader):
    strict: ClassVar[type[Loader]]

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        self._strict = self.strict(oid, context)

    def load(self, data: Buffer) -> Any:  # noqa: ANN401 -- what the strict one makes, or text
        try:
            return self._strict.load(data)
        except DataError:
            return bytes(data).decode()


class _LenientDate(_Lenient):
    strict = DateLoader


class _LenientTimestamp(_Lenient):
    strict = TimestampLoader


class _LenientTimestamptz(_Lenient):
    strict = TimestamptzLoader
