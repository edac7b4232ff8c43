"""The ledger of dead letters: messages that could not be used, kept in the control database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.downtimes.message import Rejected
from leitstand.errors import NotFoundError
from leitstand.store.database import Database, load_queries

queries = load_queries(__file__)

SHOWN = 4096
"""Bytes of a message that are shown; the whole of it is kept and replayed."""


@dataclass(frozen=True)
class DeadLetter:
    """A message that could not be used; ``body`` is None where only its size was asked for."""

    id: int
    source: str
    reason: str
    detail: str
    size: int
    deliveries: int
    first_seen_at: datetime
    last_seen_at: datetime
    body: bytes | None = None

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape; the body as text, what is not UTF-8 in it as ``\\xNN``."""
        shown = {
            "id": self.id,
            "source": self.source,
            "reason": self.reason,
            "detail": self.detail,
            "size": self.size,
            "deliveries": self.deliveries,
            "first_seen_at": self.first_seen_at,
            "last_seen_at": self.last_seen_at,
        }
        if self.body is not None:
            shown["body"] = self.body[:SHOWN].decode("utf-8", "backslashreplace")
        return shown


class DeadLetters:
    """Messages by number. The same message of the same source is one letter, however often."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def bury(self, source: str, rejected: Sequence[Rejected]) -> None:
        """Keep the messages, all or none of them."""
        if not rejected:
            return
        letters = [
            {
                "source": source,
                "reason": one.problem.value,
                "detail": one.detail.replace("\0", "\\0"),
                "body": one.body,
            }
            for one in rejected
        ]
        async with self._database.transaction() as connection:
            await queries.bury(connection, letters)

    async def list_all(self, limit: int = 1000, after: int = 0) -> list[DeadLetter]:
        """The oldest ``limit`` letters with numbers above ``after``, without their bodies."""
        async with self._database.connection() as connection:
            rows = queries.list_letters(connection, most=limit, after=after)
            return [_letter(row) async for row in rows]

    async def get(self, letter_id: int) -> DeadLetter:
        """One letter with its body. Raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.get_letter(connection, id=letter_id)
        if row is None:
            raise _absent(letter_id)
        return _letter(row)

    async def ids(self) -> list[int]:
        """The numbers of all letters, in order."""
        async with self._database.connection() as connection:
            return [row["id"] async for row in queries.all_ids(connection)]

    async def forget(self, letter_id: int) -> None:
        """Delete a letter for good. Raises NotFoundError."""
        async with self._database.transaction() as connection:
            if await queries.forget(connection, id=letter_id) is None:
                raise _absent(letter_id)

    async def count(self) -> int:
        """How many there are."""
        async with self._database.connection() as connection:
            row = await queries.count_letters(connection)
        return int(row["letters"])


def _absent(letter_id: int) -> NotFoundError:
    return NotFoundError(
        f"there is no dead letter {letter_id}", remedy="See `leitstand downtime dead-letters list`."
    )


def _letter(row: Mapping[str, Any]) -> DeadLetter:
    names = ("id", "source", "reason", "detail", "size", "deliveries")
    times = ("first_seen_at", "last_seen_at")
    return DeadLetter(**{name: row[name] for name in (*names, *times)}, body=row.get("body"))
