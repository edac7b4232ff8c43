"""A log table that is watched: where it is, what its columns are called, which rows are events."""

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leitstand.address import conninfo_parts
from leitstand.errors import LeitstandError
from leitstand.events.catalogue import CatalogueEntry
from leitstand.events.queue import PAYLOAD_LIMIT, payload_length

MESSAGE_LIMIT = 250
"""Characters of a message that a payload holds."""

_PLACE = ("service", "host", "hostaddr", "port", "dbname")
"""What in a connection string of PostgreSQL says where a database is."""

SHORTENED = PAYLOAD_LIMIT // 8
"""Characters of all that a payload copies, where it is cut: in JSON each may become six."""

_JOINING = "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}"


class MarkerUnreadableError(LeitstandError):
    """The directory in which the offline marker would be may not be looked into."""

    code = "OFFLINE_MARKER"


@dataclass(frozen=True)
class Detector:
    """Rows of a type whose message begins with ``prefix`` are events of this name.

    An empty type stands for every row, an empty prefix for every message.
    """

    event: str
    type: str
    prefix: str
    description: str

    def matches(self, row: "LogRow") -> bool:
        """Whether the row is such an event. Anchored: what follows is often a stranger's choice."""
        return self.type in ("", row.type) and row.message.startswith(self.prefix)


@dataclass(frozen=True)
class Columns:
    """What the columns are called; ``type``, ``time`` and ``message`` may be missing (empty).

    ``copied`` are those that a payload holds beside them.
    """

    id: str
    type: str = ""
    time: str = ""
    message: str = ""
    copied: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogTable:
    """A source of events; its state is kept under its name."""

    name: str
    url: str = field(repr=False)
    table: str
    columns: Columns
    detectors: tuple[Detector, ...]
    offline_marker: Path | None = None
    tenant: str = "main"

    @property
    def identity(self) -> str:
        """Tells this table from another one, without secrets."""
        told = "\0".join([self._place, self.table, self.columns.id])
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def _place(self) -> str:
        """Where the database is. A new password or user makes no other table of it."""
        if "://" in self.url:
            return self.url.rpartition("@")[2].partition("?")[0]
        parts = conninfo_parts(self.url) or {}
        return " ".join(f"{name}={parts[name]}" for name in _PLACE if name in parts)

    @property
    def mark(self) -> str:
        """What fingerprints begin with that were made of the same columns: others say nothing."""
        columns = self.columns
        told = "\0".join([columns.type, columns.time, columns.message])
        return hashlib.sha256(told.encode()).hexdigest()[:8]

    def print_of(self, row: "LogRow") -> str:
        """A fingerprint: another row under the same id has another one."""
        return f"{self.mark}-{row.digest}"

    @property
    def is_offline(self) -> bool:
        """Whether the application says, by its marker, that it is off line.

        Raises MarkerUnreadableError.
        """
        if self.offline_marker is None:
            return False
        try:
            return self.offline_marker.exists()
        except OSError as error:
            raise MarkerUnreadableError(
                f"nobody can tell whether the application of {self.name} is off line",
                detail=f"{self.offline_marker}: {error.strerror}",
                remedy="Let Leitstand's user enter the directory of offline_marker, or leave"
                " offline_marker empty.",
            ) from None

    @property
    def types(self) -> frozenset[str]:
        """The types of rows that can be events; empty if any can."""
        types = {detector.type for detector in self.detectors}
        return frozenset() if "" in types else frozenset(types)

    def entries(self) -> Iterator[CatalogueEntry]:
        """What the catalogue says about its events."""
        fields = {
            "log_id": "the row's number",
            "log_time": "when the application logged it (UTC), only for people",
            "log_message": f"the message, at most {MESSAGE_LIMIT} characters",
            **dict.fromkeys(self.columns.copied, "as in the row, absent where that has none"),
        }
        for detector in self.detectors:
            yield CatalogueEntry(detector.event, detector.description, f"log:{self.name}", fields)


@dataclass(frozen=True)
class LogRow:
    """A row as it was read: the beginning of its message; of unwatched types the id alone."""

    id: int
    type: str = ""
    time: str | None = None
    message: str = ""
    copied: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What tells it from another row under the same id."""
        told = "\0".join([str(self.id), self.type, self.time or "", self.message])
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]

    def payload(self) -> dict[str, Any]:
        """What an event tells of it; references that are NULL are left out.

        What is copied is cut where it would be too long for an event: one row stops no other.
        """
        known = {name: value for name, value in self.copied.items() if value is not None}
        row = {"log_id": self.id, "log_time": self.time, "log_message": cut(self.message)}
        whole = {**row, **known}
        if payload_length(whole) <= PAYLOAD_LIMIT:
            return whole
        each = SHORTENED // len(known)
        return {**row, **{name: _beginning(value, each) for name, value in known.items()}}


def _beginning(value: object, length: int) -> object:
    return value[:length] if isinstance(value, str) else value


def cut(text: str) -> str:
    """The first ``MESSAGE_LIMIT`` characters; one with marks that combine with it stays whole."""
    end = MESSAGE_LIMIT
    if len(text) <= end:
        return text
    while end > 0 and (unicodedata.combining(text[end]) or text[end] in _JOINING):
        end -= 1
    return text[:end]
