"""One backup on disk, a stage of a generation, and what was recorded when it was taken.

The record is ``backup.json`` beside the archives. Its last member, ``checksum``, is the SHA-256 of
the others (compact JSON, keys sorted), so a changed record is noticed like a changed archive.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

from leitstand.archive.postgres.backup_id import is_backup_id
from leitstand.archive.postgres.canary import Canaries
from leitstand.archive.postgres.lsn import parse_lsn
from leitstand.archive.postgres.regular_file import ArchiveMissingError, read_small
from leitstand.errors import LeitstandError

BASE = "base.tar.gz"
WAL = "pg_wal.tar.gz"
MANIFEST = "backup_manifest"
SIDECAR = "backup.json"
FULL_DIR = "full"
INCREMENTAL_DIR = "incremental"
FORMAT = 1
SIDECAR_LIMIT = 16 << 20
"""Bytes that a record may have; one with 10 000 tablespaces has about 3 MB."""

T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SYSTEM_IDENTIFIER = re.compile(r"[1-9]\d{0,19}")
_ARCHIVE = re.compile(r"(base|pg_wal|[1-9]\d{0,9})\.tar\.gz")


class StageRecordError(LeitstandError):
    """``backup.json`` is not a record that Leitstand wrote, or was changed since."""

    code = "BACKUP_RECORD"


class StageKind(StrEnum):
    """A full backup starts a generation, incremental ones continue it."""

    FULL = "full"
    INCREMENTAL = "incremental"


@dataclass(frozen=True)
class Parent:
    """The backup that an increment builds on, identified by its manifest's SHA-256 (hex)."""

    id: str
    manifest_sha256: str


@dataclass(frozen=True)
class FileDigest:
    """Size in bytes and SHA-256 (hex) of a file as it lies on disk, compressed."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Tablespace:
    """A tablespace: its oid, the directory it had on the server, its archive's file name."""

    oid: int
    location: str
    archive: str


@dataclass(frozen=True)
class StageRecord:
    """What ``backup.json`` says about the backup beside it; times are UTC, LSNs as text."""

    id: str
    kind: StageKind
    generation: str
    parent: Parent | None
    system_identifier: str
    timeline: int
    start_lsn: str
    end_lsn: str
    started_at: datetime
    finished_at: datetime
    postgres_version: str
    manifest_sha256: str
    files: Mapping[str, FileDigest]
    tablespaces: tuple[Tablespace, ...]
    history: str | None = None
    """The server's life between two restores; increments stay within one."""
    canaries: Canaries | None = None
    """What a copy must answer; None where nothing was asked."""
    config_sha256: str | None = None
    """Of the configuration files that are kept beside the archives; None where none are."""

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse ``backup.json``; raises StageRecordError that names the member at fault."""
        try:
            document = json.loads(text, object_pairs_hook=_distinct)
            members = _Members(document, "")
            _check_envelope(members)
            return cls(**_record_members(members))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise StageRecordError(
                f"{SIDECAR} is not a valid backup record: {error}",
                remedy="The backup cannot be trusted; take a new full backup.",
            ) from error

    def to_json(self) -> str:
        """The text of ``backup.json``, checksum included; ``from_json`` reads it back."""
        document = {
            "format": FORMAT,
            "id": self.id,
            "kind": self.kind.value,
            "generation": self.generation,
            "parent": None if self.parent is None else dict(vars(self.parent)),
            "system_identifier": self.system_identifier,
            "timeline": self.timeline,
            "start_lsn": self.start_lsn,
            "end_lsn": self.end_lsn,
            "started_at": _rfc3339(self.started_at),
            "finished_at": _rfc3339(self.finished_at),
            "postgres_version": self.postgres_version,
            "history": self.history,
            "manifest_sha256": self.manifest_sha256,
            "files": {name: dict(vars(digest)) for name, digest in self.files.items()},
            "tablespaces": [dict(vars(space)) for space in self.tablespaces],
            "config_sha256": self.config_sha256,
            "canaries": None if self.canaries is None else self.canaries.as_dict(),
        }
        return json.dumps(document | {"checksum": _checksum(document)}, indent=1) + "\n"


@dataclass(frozen=True)
class Stage:
    """A stage's directory and its record; None where ``backup.json`` does not exist."""

    path: Path
    record: StageRecord | None

    @classmethod
    def read(cls, path: Path) -> Self:
        """The stage in ``path``; raises StageRecordError, ArchiveUnreadableError."""
        try:
            content = read_small(path / SIDECAR, SIDECAR_LIMIT)
        except ArchiveMissingError:
            return cls(path, None)
        return cls(path, StageRecord.from_json(content))

    @property
    def name(self) -> str:
        """How findings call it: ``full`` or ``incremental/<id>``."""
        return stage_name(self.path)


def stage_name(path: Path) -> str:
    """A stage's name from its directory: ``full``, or ``incremental/<id>``."""
    if path.parent.name == INCREMENTAL_DIR:
        return f"{INCREMENTAL_DIR}/{path.name}"
    return path.name


class _Members:
    """The members of one JSON object, read with their types; errors say where it fails."""

    def __init__(self, document: object, where: str) -> None:
        if not isinstance(document, dict):
            raise TypeError(f"{where or 'the document'} is not an object")
        self.document: dict[str, Any] = document
        self.where = where

    def value(self, name: str, kind: type[T]) -> T:
        """The member ``name``, which must be exactly a ``kind`` (true is no number)."""
        place = f"{self.where}{name}"
        if name not in self.document:
            raise ValueError(f"{place} is missing")
        value: T = self.document[name]
        if type(value) is not kind:
            raise ValueError(f"{place} is not of type {kind.__name__}")
        return value

    def number(self, name: str, least: int) -> int:
        value = self.value(name, int)
        if value < least:
            raise ValueError(f"{self.where}{name} is less than {least}")
        return value

    def text(self, name: str, pattern: re.Pattern[str] | None = None) -> str:
        value = self.value(name, str)
        if (pattern is not None and not pattern.fullmatch(value)) or not value:
            raise ValueError(f"{self.where}{name} has the unexpected value {value[:80]!r}")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.document.get(name, "") is None else self.text(name)

    def backup_id(self, name: str) -> str:
        value = self.text(name)
        if not is_backup_id(value):
            raise ValueError(f"{self.where}{name} has the unexpected value {value[:80]!r}")
        return value

    def lsn(self, name: str) -> str:
        value = self.text(name)
        parse_lsn(value)
        return value

    def time(self, name: str) -> datetime:
        time = datetime.fromisoformat(self.text(name))
        if time.tzinfo is None:
            raise ValueError(f"{self.where}{name} has no time zone")
        return time.astimezone(UTC)


def _check_envelope(members: _Members) -> None:
    if members.number("format", 0) != FORMAT:
        raise ValueError(f"format {members.document['format']} is unknown, expected {FORMAT}")
    unsigned = {k: v for k, v in members.document.items() if k != "checksum"}
    if members.text("checksum", _SHA256) != _checksum(unsigned):
        raise ValueError("its checksum does not match; it was changed after it was written")


def _record_members(members: _Members) -> dict[str, Any]:
    kind = StageKind(members.text("kind"))
    return {
        "id": members.backup_id("id"),
        "kind": kind,
        "generation": members.backup_id("generation"),
        "parent": _parent(members, kind),
        "system_identifier": members.text("system_identifier", _SYSTEM_IDENTIFIER),
        "timeline": members.number("timeline", 1),
        "start_lsn": members.lsn("start_lsn"),
        "end_lsn": members.lsn("end_lsn"),
        "started_at": members.time("started_at"),
        "finished_at": members.time("finished_at"),
        "postgres_version": members.text("postgres_version"),
        "history": members.optional_text("history"),
        "manifest_sha256": members.text("manifest_sha256", _SHA256),
        "files": _files(members.value("files", dict)),
        "tablespaces": tuple(_tablespace(item) for item in members.value("tablespaces", list)),
        "canaries": _canaries(members),
        "config_sha256": members.optional_text("config_sha256"),
    }


def _parent(members: _Members, kind: StageKind) -> Parent | None:
    if kind is StageKind.FULL:
        members.value("parent", type(None))
        return None
    parent = _Members(members.value("parent", dict), "parent.")
    return Parent(parent.backup_id("id"), parent.text("manifest_sha256", _SHA256))


def _canaries(members: _Members) -> Canaries | None:
    """Records of earlier versions have none."""
    if members.document.get("canaries") is None:
        return None
    return Canaries.from_dict(members.value("canaries", dict))


def _files(document: dict[str, Any]) -> dict[str, FileDigest]:
    found = {}
    for name, item in document.items():
        if not _ARCHIVE.fullmatch(name):
            raise ValueError(f"files names {name[:80]!r}, which is no archive of a backup")
        members = _Members(item, f"files.{name}.")
        found[name] = FileDigest(members.number("size", 0), members.text("sha256", _SHA256))
    return found


def _tablespace(item: object) -> Tablespace:
    members = _Members(item, "tablespaces.")
    oid = members.number("oid", 1)
    if members.text("archive") != f"{oid}.tar.gz":
        raise ValueError(f"the archive of tablespace {oid} is not called {oid}.tar.gz")
    return Tablespace(oid, members.text("location"), members.text("archive"))


def _checksum(document: Mapping[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a member occurs twice in one object")
    return document
