"""PostgreSQL's ``backup_manifest``: what a backup consists of, with sizes and checksums.

Format: PostgreSQL's documentation, "Backup Manifest Format", versions 1 (before 17) and 2, which
adds the system identifier. The last line holds the SHA-256 of all lines before it.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import google_crc32c

from leitstand.archive.postgres.lsn import parse_lsn
from leitstand.errors import LeitstandError

MANIFEST_LIMIT = 1 << 30
"""Bytes that a manifest may have, about seven million files."""

_LAST_LINE = re.compile(rb'"Manifest-Checksum": "([0-9a-f]{64})"\}\n')
_SHA = {"SHA224": "sha224", "SHA256": "sha256", "SHA384": "sha384", "SHA512": "sha512"}
_CHECKSUM_SIZES = {"NONE": 0, "CRC32C": 4, "SHA224": 28, "SHA256": 32, "SHA384": 48, "SHA512": 64}
_FILE_MEMBERS = {
    "Path",
    "Encoded-Path",
    "Size",
    "Last-Modified",
    "Checksum-Algorithm",
    "Checksum",
}


class ManifestError(LeitstandError):
    """``backup_manifest`` is damaged, or not in a format that is known."""

    code = "MANIFEST_DAMAGED"


@dataclass(frozen=True)
class ManifestFile:
    """One file: its size in bytes, the checksum's algorithm (``NONE`` too) and value."""

    size: int
    algorithm: str
    checksum: bytes


@dataclass(frozen=True)
class WalRange:
    """WAL that the backup needs to become consistent; byte positions, ``end`` not included."""

    timeline: int
    start: int
    end: int


@dataclass(frozen=True)
class Manifest:
    """A manifest whose own checksum is right. Paths are bytes, relative to the data directory;
    files of tablespaces are below ``pg_tblspc/<oid>/``. ``sha256`` (hex) is that of the whole file.
    """

    version: int
    system_identifier: str | None
    files: Mapping[bytes, ManifestFile]
    wal_ranges: tuple[WalRange, ...]
    sha256: str


class Checksum(Protocol):
    """A running checksum over a file's content."""

    def update(self, data: bytes, /) -> None:
        """Take in the next bytes."""

    def digest(self) -> bytes:
        """The checksum of everything taken in."""


class Crc32c:
    """CRC-32C, in the byte order in which little-endian machines store it in the manifest."""

    def __init__(self) -> None:
        self._crc = 0

    def update(self, data: bytes, /) -> None:
        """Take in the next bytes."""
        self._crc = google_crc32c.extend(self._crc, data)

    def digest(self) -> bytes:
        """The four bytes as PostgreSQL writes them."""
        return self._crc.to_bytes(4, "little")


class NoChecksum:
    """Stands in where a backup was taken without checksums."""

    def update(self, data: bytes, /) -> None:
        """Nothing to take in."""

    def digest(self) -> bytes:
        """Always empty."""
        return b""


def new_checksum(algorithm: str) -> Checksum:
    """A fresh checksum for one of the manifest's algorithms."""
    if algorithm == "NONE":
        return NoChecksum()
    if algorithm == "CRC32C":
        return Crc32c()
    return hashlib.new(_SHA[algorithm], usedforsecurity=False)


def parse_manifest(content: bytes) -> Manifest:
    """Parse a whole ``backup_manifest``; raises ManifestError that says what is wrong with it."""
    _check_own_checksum(content)
    try:
        document = json.loads(content, object_pairs_hook=_distinct)
        return _manifest(document, hashlib.sha256(content).hexdigest())
    except KeyError as error:
        raise ManifestError(f"it lacks {error.args[0]}") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ManifestError(f"it cannot be read: {error}") from error


def _check_own_checksum(content: bytes) -> None:
    if not content:
        raise ManifestError("it is empty")
    start = content.rfind(b"\n", 0, len(content) - 1) + 1
    match = _LAST_LINE.fullmatch(content, start)
    if match is None:
        raise ManifestError("it is cut off or changed: its last line is not its checksum")
    if hashlib.sha256(memoryview(content)[:start]).hexdigest() != match.group(1).decode():
        raise ManifestError("it was changed: its own checksum does not match")


def _manifest(document: dict[str, Any], sha256: str) -> Manifest:
    version = document["PostgreSQL-Backup-Manifest-Version"]
    if version not in (1, 2):
        raise ValueError(f"its version {version!r} is unknown")
    return Manifest(
        version=version,
        system_identifier=_system_identifier(document) if version > 1 else None,
        files=_files(document["Files"]),
        wal_ranges=tuple(_wal_range(item) for item in document["WAL-Ranges"]),
        sha256=sha256,
    )


def _system_identifier(document: dict[str, Any]) -> str:
    identifier = document["System-Identifier"]
    if type(identifier) is not int or not 0 < identifier < 1 << 64:
        raise ValueError(f"its system identifier is {identifier!r}")
    return str(identifier)


def _files(items: list[dict[str, Any]]) -> dict[bytes, ManifestFile]:
    files: dict[bytes, ManifestFile] = {}
    for item in items:
        path = _path(item)
        if path in files:
            raise ValueError(f"it names {path!r} twice")
        files[path] = _file(item)
    return files


def _path(item: dict[str, Any]) -> bytes:
    if item.keys() - _FILE_MEMBERS:
        raise ValueError(f"an entry has unknown members: {sorted(item)}")
    if ("Path" in item) == ("Encoded-Path" in item):
        raise ValueError("an entry has not exactly one of Path and Encoded-Path")
    path: bytes = item["Path"].encode() if "Path" in item else bytes.fromhex(item["Encoded-Path"])
    return path


def _file(item: dict[str, Any]) -> ManifestFile:
    size = item["Size"]
    if type(size) is not int or size < 0:
        raise ValueError(f"a file has the size {size!r}")
    algorithm = item.get("Checksum-Algorithm", "NONE")
    if algorithm not in _CHECKSUM_SIZES:
        raise ValueError(f"the checksum algorithm {algorithm!r} is unknown")
    checksum = bytes.fromhex(item["Checksum"]) if algorithm != "NONE" else b""
    if len(checksum) != _CHECKSUM_SIZES[algorithm]:
        raise ValueError(f"a checksum has {len(checksum)} bytes, which is wrong for {algorithm}")
    return ManifestFile(size, algorithm, checksum)


def _wal_range(item: dict[str, Any]) -> WalRange:
    found = WalRange(item["Timeline"], parse_lsn(item["Start-LSN"]), parse_lsn(item["End-LSN"]))
    if type(found.timeline) is not int or found.timeline < 1 or found.end <= found.start:
        raise ValueError(f"its WAL range {item} makes no sense")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a member occurs twice in one object")
    return document
