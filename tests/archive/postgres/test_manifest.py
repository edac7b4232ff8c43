"""PostgreSQL's manifest: read as it is written, and never believed when it was changed."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.finding import FindingKind, Findings
from leitstand.archive.postgres.manifest import (
    Manifest,
    ManifestError,
    ManifestFile,
    WalRange,
    new_checksum,
    parse_manifest,
)
from leitstand.archive.postgres.manifest_check import ManifestCheck, archive_of
from leitstand.archive.postgres.tar_stream import Entry, EntryKind
from tests.archive.postgres.damage import flip

FILE = {
    "Path": "global/1262",
    "Size": 8192,
    "Last-Modified": "2026-12-01 17:00:00 GMT",
    "Checksum-Algorithm": "CRC32C",
    "Checksum": "839206e3",
}
ODD = {"Encoded-Path": "636166e9", "Size": 3, "Last-Modified": "2026-12-01 17:00:00 GMT"}
RANGE = {"Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "1/0"}


def sealed(lines: str) -> bytes:
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return f'{lines}"Manifest-Checksum": "{digest}"}}\n'.encode()


def manifest(
    files: Any = (FILE, ODD), ranges: Any = (RANGE,), version: Any = 2, **more: Any
) -> bytes:
    """A manifest in PostgreSQL's layout with the given members."""
    head = {"PostgreSQL-Backup-Manifest-Version": version, "System-Identifier": 7 << 60} | more
    text = json.dumps(head | {"Files": list(files), "WAL-Ranges": list(ranges)})
    return sealed(text[:-1] + ",\n")


def test_all_of_it_is_read() -> None:
    content = manifest()
    assert parse_manifest(content) == Manifest(
        version=2,
        system_identifier=str(7 << 60),
        files={
            b"global/1262": ManifestFile(8192, "CRC32C", bytes.fromhex("839206e3")),
            b"caf\xe9": ManifestFile(3, "NONE", b""),
        },
        wal_ranges=(WalRange(1, 0x2000028, 1 << 32),),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def test_version_1_has_no_system_identifier() -> None:
    assert parse_manifest(manifest(version=1)).system_identifier is None


@given(st.integers(0, len(manifest()) - 1), st.integers(1, 255))
def test_every_changed_byte_is_found(at: int, mask: int) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(flip(manifest(), at, mask))


@given(st.integers(0, len(manifest()) - 1))
def test_every_cut_is_found(keep: int) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(manifest()[:keep])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (manifest(version=3), "version 3 is unknown"),
        (manifest([FILE, FILE]), "names b'global/1262' twice"),
        (manifest([FILE | {"Size": -1}]), "the size -1"),
        (manifest([FILE | {"Size": True}]), "the size True"),
        (manifest([FILE | {"Checksum": "83"}]), "has 1 bytes"),
        (manifest([FILE | {"Checksum-Algorithm": "MD5"}]), "'MD5' is unknown"),
        (manifest([FILE | {"Encoded-Path": "61"}]), "exactly one of"),
        (manifest([FILE | {"Link": "x"}]), "unknown members"),
        (manifest([{"Path": "a"}]), "lacks Size"),
        (manifest(["a"]), "cannot be read"),
        (manifest(ranges=[RANGE | {"End-LSN": "0/1"}]), "makes no sense"),
        (manifest(ranges=[RANGE | {"End-LSN": "x"}]), "'x' is not a log sequence number"),
        (manifest(**{"System-Identifier": "7"}), "system identifier is '7'"),
        (sealed('{"PostgreSQL-Backup-Manifest-Version": 2,\n'), "lacks System-Identifier"),
        (sealed('{"Files": [], "Files": [],\n'), "occurs twice"),
        (sealed("[" * 100_000 + "\n"), "cannot be read"),
        (b"", "it is empty"),
        (b"\n", "its last line is not its checksum"),
    ],
)
def test_what_makes_no_sense_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        parse_manifest(content)


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("NONE", ""),
        ("CRC32C", "839206e3"),  # RFC 3720's check value e3069283, low byte first
        ("SHA224", hashlib.sha224(b"123456789").hexdigest()),
        ("SHA512", hashlib.sha512(b"123456789").hexdigest()),
    ],
)
def test_checksums(algorithm: str, digest: str) -> None:
    checksum = new_checksum(algorithm)
    checksum.update(b"1234")
    checksum.update(b"56789")
    assert checksum.digest().hex() == digest


def seen(check: ManifestCheck, name: bytes, content: bytes, archive: str = "base.tar.gz") -> None:
    """Show one file of an archive to the check."""
    prefix = b"" if archive == "base.tar.gz" else b"pg_tblspc/7/"
    observer = check.observer(archive, prefix)
    observer.begin(Entry(name, EntryKind.FILE, len(content), 0o600))
    observer.piece(content)
    observer.end()


def test_files_are_matched_both_ways() -> None:
    files = [FILE | {"Path": path, "Size": 9} for path in ("a", "b", "c", "d", "pg_tblspc/7/e")]
    findings = Findings("full")
    check = ManifestCheck(parse_manifest(manifest(files)), findings)
    seen(check, b"a", b"123456789")
    seen(check, b"a", b"123456789")
    seen(check, b"b", b"123456780")
    seen(check, b"c", b"12345678")
    seen(check, b"e", b"123456789", archive="7.tar.gz")
    seen(check, b"f", b"", archive="7.tar.gz")
    check.missing(frozenset({7}), {})
    assert [(f.file, f.problem) for f in findings] == [
        ("base.tar.gz", "a is there a second time"),
        ("base.tar.gz", "b has another CRC32C than the manifest"),
        ("base.tar.gz", "c has 8 bytes, the manifest says 9"),
        ("7.tar.gz", "pg_tblspc/7/f is not in the manifest"),
        ("base.tar.gz", "d is in the manifest, but not in the archive"),
    ]


def test_what_was_not_reached_is_only_counted() -> None:
    files = [FILE | {"Path": f"base/{n}"} for n in range(50)]
    findings = Findings("full")
    ManifestCheck(parse_manifest(manifest(files)), findings).missing(
        frozenset(), {"base.tar.gz": FindingKind.UNREADABLE}
    )
    assert [(f.problem, f.kind) for f in findings] == [
        ("50 files of the manifest could not be reached in it", FindingKind.UNREADABLE)
    ]


@pytest.mark.parametrize(
    ("path", "archive"),
    [
        (b"base/5/1", "base.tar.gz"),
        (b"pg_tblspc/7/PG_18/5/1", "7.tar.gz"),
        (b"pg_tblspc/8/PG_18/5/1", "base.tar.gz"),
        (b"pg_tblspc/7", "base.tar.gz"),
        (b"pg_tblspc/x/y", "base.tar.gz"),
    ],
)
def test_which_archive_holds_a_path(path: bytes, archive: str) -> None:
    assert archive_of(path, frozenset({7})) == archive
