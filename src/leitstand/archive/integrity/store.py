"""What reconcile and scrub ask of an object store: list, look, read; never write."""

import bisect
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from leitstand.archive.integrity.storage_key import key_fields, key_text
from leitstand.errors import LeitstandError, UnavailableError

REMEMBERED = 100
"""How many oddities of a listing are kept for the report; all are counted."""


class StoreUnreachableError(UnavailableError):
    """The object store does not answer, or does not let us in."""

    code = "STORE_UNREACHABLE"


class ObjectUnreadableError(LeitstandError):
    """An object is there and cannot be read, or nobody can tell whether it is there."""

    code = "OBJECT_UNREADABLE"


class ObjectMissingError(ObjectUnreadableError):
    """There is no object of that key."""

    code = "OBJECT_MISSING"


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a store says about an object without reading it."""

    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of keys that could not be listed: from ``start`` to before ``end`` (None: the end).

    About keys in it nothing is known, so there is no verdict on them.
    """

    start: bytes
    end: bytes | None
    reason: str

    @classmethod
    def below(cls, prefix: bytes, reason: str) -> "Gap":
        """All keys that begin with ``prefix``, which is empty or ends with a slash."""
        return cls(prefix, prefix[:-1] + b"0" if prefix else None, reason)

    def as_dict(self) -> dict[str, Any]:
        """As the report shows it."""
        return {"prefix": key_text(self.start), "reason": self.reason}


@dataclass
class ListingNotes:
    """What a listing met beside keys; grows while it goes on."""

    gaps: list[Gap] = field(default_factory=list)
    collisions: list[list[bytes]] = field(default_factory=list)
    collision_count: int = 0
    irregular: list[tuple[bytes, str]] = field(default_factory=list)
    irregular_count: int = 0

    def add_gap(self, gap: Gap) -> None:
        """Note a range that could not be listed; they come in order of their keys."""
        self.gaps.append(gap)

    def is_unknown(self, key: bytes) -> bool:
        """Whether ``key`` lies in a gap, so that its absence means nothing."""
        index = bisect.bisect_right(self.gaps, key, key=lambda gap: gap.start)
        if not index:
            return False
        end = self.gaps[index - 1].end
        return end is None or key < end

    def add_collision(self, keys: list[bytes]) -> None:
        """Note keys that differ only in case or Unicode form."""
        self.collision_count += 1
        if len(self.collisions) < REMEMBERED:
            self.collisions.append(keys)

    def add_irregular(self, key: bytes, what: str) -> None:
        """Note something in the store's place that is no object, such as a symbolic link."""
        self.irregular_count += 1
        if len(self.irregular) < REMEMBERED:
            self.irregular.append((key, what))

    def as_dict(self) -> dict[str, Any]:
        """As the report shows it."""
        return {
            "unreadable": [gap.as_dict() for gap in self.gaps[:REMEMBERED]],
            "collisions": [[key_text(key) for key in keys] for keys in self.collisions],
            "irregular": [{**key_fields(key), "what": what} for key, what in self.irregular],
        }


class Listing(Protocol):
    """One walk through all keys of a store."""

    notes: ListingNotes

    def pages(self) -> AsyncGenerator[list[bytes]]:
        """The keys in byte order, each once; raises StoreUnreachableError."""


class Store(Protocol):
    """An object store. ``name`` says which, without any secret.

    ``tree`` is the directory below which the objects are plain files that any process may read;
    None where only this process can read them.
    """

    name: str
    tree: bytes | None

    def listing(self) -> Listing:
        """Begin a walk through all keys."""

    async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
        """What is there now under each key; None for no object, or none that a listing names.

        Keys of which that cannot be told are left out.
        """

    def read(self, key: bytes) -> Iterator[memoryview | bytes]:
        """The object's content in pieces of bounded size; blocks, from any thread.

        A piece is valid until the next one is asked for. Raises ObjectMissingError or
        ObjectUnreadableError.
        """
