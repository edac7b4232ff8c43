"""Reads times of PostgreSQL that Python's have no room for (infinity, BC) as text: one row that
holds one stops no other."""

from typing import Any

from psycopg import AsyncConnection, DataError
from psycopg.abc import Buffer
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader


def read_times_leniently(connection: AsyncConnection[Any]) -> None:
    """Have all times that are read from now on by this connection read so."""
    connection.adapters.register_loader("date", _LenientDate)
    connection.adapters.register_loader("timestamp", _LenientTimestamp)
    connection.adapters.register_loader("timestamptz", _LenientTimestamptz)


class _LenientDate(DateLoader):
    def load(self, data: Buffer) -> Any:  # noqa: ANN401 -- a date, or text
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


class _LenientTimestamp(TimestampLoader):
    def load(self, data: Buffer) -> Any:  # noqa: ANN401 -- a datetime, or text
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


class _LenientTimestamptz(TimestamptzLoader):
    def load(self, data: Buffer) -> Any:  # noqa: ANN401 -- a datetime, or text
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()
