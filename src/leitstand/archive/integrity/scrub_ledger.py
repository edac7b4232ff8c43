"""The ledger of scrubs: when each object was read last, and how many failures there have been.

The only code that touches ``scrub_inventories`` and ``scrub_state``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from leitstand.store.database import Database, load_queries

queries = load_queries(__file__)

DAY = timedelta(days=1)

LONG = 60.0
"""Seconds for statements over all objects of a store."""


class MarkResult(StrEnum):
    """How the last look at an object ended."""

    OK = "ok"
    FAILED = "failed"
    MISSING = "missing"


class Marks:
    """Outcomes of looks at objects, to be noted together; each as the text that is sent."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.results: list[str] = []
        self.sizes: list[str] = []

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, key: bytes, result: MarkResult, size: int) -> None:
        """Add the outcome of one look."""
        self.keys.append(bytea_text(key))
        self.results.append(result.value)
        self.sizes.append(str(size))

    def add_right(self, keys: Sequence[bytes], sizes: Sequence[int]) -> None:
        """Add objects that are as they should be."""
        self.keys += map(bytea_text, keys)
        self.results += [MarkResult.OK.value] * len(keys)
        self.sizes += map(str, sizes)


@dataclass(frozen=True)
class Today:
    """What was read in the last 24 hours."""

    objects: int
    bytes: int


@dataclass(frozen=True)
class Seen:
    """How many objects were read since a moment, and ever; when the one longest ago was."""

    recently: int
    ever: int
    oldest: datetime | None


@dataclass(frozen=True)
class FailedObjects:
    """The objects that were wrong at their last reading: how many, and when the first were read."""

    count: int = 0
    first: Mapping[bytes, datetime] = field(default_factory=dict)


def bytea_text(key: bytes) -> str:
    """The key as PostgreSQL writes it, which is never empty and without a space."""
    return rf"\x{key.hex()}"


class ScrubLedger:
    """The state of the objects of one store, named by its address."""

    def __init__(self, database: Database, inventory: int) -> None:
        self._database = database
        self._inventory = inventory

    @classmethod
    async def of(cls, database: Database, store: str) -> Self:
        """The ledger of a store; begun if it is new."""
        async with database.connection() as connection:
            row = await queries.inventory(connection, store=store)
            if row is None:  # another one began it between the two halves of the statement
                row = await queries.inventory(connection, store=store)
        return cls(database, row["id"])

    async def now(self) -> datetime:
        """The database's clock, which all marks go by."""
        async with self._database.connection() as connection:
            row = await queries.now(connection)
        moment: datetime = row["now"]
        return moment

    async def state(self, after: bytes | None, upto: bytes | None) -> dict[bytes, float]:
        """When the keys behind ``after`` up to ``upto`` were read last; None: no limit.

        In seconds since 1970.
        """
        async with self._database.connection(LONG) as connection:
            row = await queries.state(connection, inventory=self._inventory, after=after, upto=upto)
        if row["keys"] is None:
            return {}
        keys, times = row["keys"].split(" "), row["times"].split(" ")
        return dict(zip(map(bytes.fromhex, keys), map(float, times), strict=True))

    async def forget(self, keys: Sequence[bytes]) -> None:
        """Drop the state of keys that are in the application's database no more."""
        async with self._database.connection(LONG) as connection:
            await queries.forget(connection, inventory=self._inventory, keys=list(keys))

    async def today(self, now: datetime) -> Today:
        """What was read in the 24 hours before ``now``."""
        async with self._database.connection(LONG) as connection:
            row = await queries.today(connection, inventory=self._inventory, since=now - DAY)
        return Today(row["objects"], row["bytes"])

    async def mark(self, marks: Marks, sampled_at: datetime) -> int:
        """Note outcomes, and count the failures among them, in one transaction.

        An object that somebody else has marked since ``sampled_at`` keeps that mark and is not
        counted again. Returns how many marks were made.
        """
        async with self._database.connection(LONG) as connection:
            row = await queries.mark(
                connection,
                inventory=self._inventory,
                keys=" ".join(marks.keys),
                results=" ".join(marks.results),
                sizes=" ".join(marks.sizes),
                sampled_at=sampled_at,
            )
        made: int = row["marks"]
        return made

    async def seen(self, since: datetime) -> Seen:
        """How far the objects have been read."""
        async with self._database.connection(LONG) as connection:
            row = await queries.coverage(connection, inventory=self._inventory, since=since)
        return Seen(row["recently"], row["ever"], row["oldest"])

    async def failed(self, limit: int) -> FailedObjects:
        """What was wrong at its last reading, in order of the keys, ``limit`` of them by name."""
        async with self._database.connection(LONG) as connection:
            found = queries.failed(connection, inventory=self._inventory, max_rows=limit)
            rows = [row async for row in found]
        first = {bytes(row["storage_key"]): row["checked_at"] for row in rows}
        return FailedObjects(rows[0]["failed"] if rows else 0, first)


async def failure_counts(database: Database) -> dict[str, int]:
    """How many findings each store has ever had."""
    async with database.connection() as connection:
        return {row["store"]: row["failures"] async for row in queries.failure_counts(connection)}


async def remove_inventory(database: Database, store: str) -> None:
    """Forget a store with all its state."""
    async with database.connection(LONG) as connection:
        await queries.remove(connection, store=store)
