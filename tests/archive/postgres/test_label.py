"""``backup_label``, ``tablespace_map`` and log sequence numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.label import (
    BackupLabel,
    LabelError,
    Position,
    parse_label,
    parse_tablespace_map,
)
from leitstand.archive.postgres.lsn import format_lsn, parse_lsn

FULL = b"""START WAL LOCATION: 0/2000028 (file 000000010000000000000002)
CHECKPOINT LOCATION: 0/2000080
BACKUP METHOD: streamed
BACKUP FROM: primary
START TIME: 2026-12-01 17:00:00 UTC
LABEL: pg_basebackup base backup
START TIMELINE: 1
"""
INCREMENT = FULL + b"INCREMENTAL FROM LSN: 0/1000028\nINCREMENTAL FROM TLI: 1\n"
PATHS = st.binary(min_size=1, max_size=30).filter(lambda b: b"\0" not in b)


def test_label_of_a_full_backup_and_of_an_increment() -> None:
    start = Position(1, 0x2000028)
    assert parse_label(FULL) == BackupLabel(start, None)
    assert parse_label(INCREMENT) == BackupLabel(start, Position(1, 0x1000028))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "does not state START WAL LOCATION|does not state START TIMELINE"),
        (FULL.replace(b"START TIMELINE: 1", b"START TIMELINE: one"), "cannot be read"),
        (FULL.replace(b"0/2000028", b"0-2000028"), "not a log sequence number"),
        (INCREMENT.replace(b"FROM TLI", b"TLI"), "does not state INCREMENTAL FROM TLI"),
        (b"\xff\xfe", "does not state"),
    ],
)
def test_labels_that_cannot_be_trusted(content: bytes, problem: str) -> None:
    with pytest.raises(LabelError, match=problem):
        parse_label(content)


def escaped(path: bytes) -> bytes:
    """As do_pg_backup_start() (xlog.c) writes a path."""
    for byte in (b"\\", b"\n", b"\r"):
        path = path.replace(byte, b"\\" + byte)
    return path


@given(st.dictionaries(st.integers(1, (1 << 32) - 1), PATHS, max_size=5))
def test_tablespace_maps_come_back(spaces: dict[int, bytes]) -> None:
    lines = [b"%d %s\n" % (oid, escaped(path)) for oid, path in spaces.items()]
    assert parse_tablespace_map(b"".join(lines)) == spaces


@pytest.mark.parametrize("content", [b"16384\n", b"x /srv\n", b"0 /srv\n", b"16384 \n"])
def test_tablespace_maps_that_make_no_sense(content: bytes) -> None:
    with pytest.raises(LabelError):
        parse_tablespace_map(content)


@given(st.integers(0, (1 << 64) - 1))
def test_lsn_there_and_back(position: int) -> None:
    assert parse_lsn(format_lsn(position)) == position


@pytest.mark.parametrize("text", ["", "0", "0/", "/0", "0/123456789", "0/1 ", "0x0/1", "-1/1"])
def test_what_is_no_lsn(text: str) -> None:
    with pytest.raises(ValueError, match="log sequence number"):
        parse_lsn(text)
