"""A revision of a document: the row that says under which key its content is stored."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from leitstand.archive.integrity.storage_key import key_fields


class Revision(NamedTuple):
    """A row of ``file_revisions``; ``checksum`` is 64 hexadecimal digits, None if none is known."""

    storage_key: bytes
    document_id: Any
    revision_id: Any
    checksum: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields that name it in reports."""
        return {
            **key_fields(self.storage_key),
            "document_id": identity(self.document_id),
            "revision_id": identity(self.revision_id),
        }


@dataclass(frozen=True, slots=True)
class RevisionPage:
    """Consecutive revisions in byte order of their keys, each key once.

    ``revisions[i]`` has the key ``keys[i]``. The keys stand by themselves since comparing lists of
    bytes is what makes reconciliation fast.
    """

    keys: list[bytes]
    revisions: Sequence[Revision]


class Revisions(Protocol):
    """Where revisions are read: a table in some database. ``async with`` opens and closes it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    def pages(self, *, checksums: bool = False) -> AsyncGenerator[RevisionPage]:
        """All revisions in byte order of their keys, with checksums if asked for."""

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, list[Revision]]:
        """The revisions that have these keys now."""


class CountableRevisions(Revisions, Protocol):
    """Revisions of which it can be said how many there are, before they are read."""

    async def count(self, limit: int) -> int:
        """How many rows there are; ``limit`` if there are more."""


def identity(value: object) -> object:
    """An identifier as JSON can hold it: numbers and text as they are, others as their text."""
    return value if value is None or isinstance(value, int | str) else str(value)
