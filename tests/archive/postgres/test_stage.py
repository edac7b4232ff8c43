"""The record beside each backup: written, read back, and never believed when it was changed."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.lsn import format_lsn
from leitstand.archive.postgres.regular_file import ArchiveUnreadableError
from leitstand.archive.postgres.stage import (
    SIDECAR,
    SIDECAR_LIMIT,
    FileDigest,
    Parent,
    Stage,
    StageKind,
    StageRecord,
    StageRecordError,
    Tablespace,
    stage_name,
)

SHA256 = st.binary(min_size=32, max_size=32).map(bytes.hex)
LSN = st.integers(0, (1 << 64) - 1).map(format_lsn)
TIMES = st.integers(0, 1 << 33).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
IDS = TIMES.map(lambda time: f"{time:%Y%m%dT%H%M%SZ}")
PLACES = st.binary(min_size=1, max_size=30).map(os.fsdecode)  # paths need not be UTF-8
SPACES = st.builds(
    lambda oid, place: Tablespace(oid, place, f"{oid}.tar.gz"), st.integers(1, 1 << 32), PLACES
)
NAMES = st.sampled_from(["base.tar.gz", "pg_wal.tar.gz", "16384.tar.gz"])
RECORDS = st.builds(
    StageRecord,
    id=IDS,
    kind=st.just(StageKind.INCREMENTAL),
    generation=IDS,
    parent=st.builds(Parent, id=IDS, manifest_sha256=SHA256),
    system_identifier=st.integers(1, (1 << 64) - 1).map(str),
    timeline=st.integers(1, 1 << 31),
    start_lsn=LSN,
    end_lsn=LSN,
    started_at=TIMES,
    finished_at=TIMES,
    postgres_version=st.just("18.6"),
    manifest_sha256=SHA256,
    files=st.dictionaries(NAMES, st.builds(FileDigest, st.integers(0, 1 << 50), SHA256)),
    tablespaces=st.lists(SPACES, max_size=3).map(tuple),
)
ONE = StageRecord(
    id="20261201T170000Z",
    kind=StageKind.FULL,
    generation="20261201T170000Z",
    parent=None,
    system_identifier="7500000000000000000",
    timeline=1,
    start_lsn="0/2000028",
    end_lsn="0/2000120",
    started_at=datetime(2026, 12, 1, 17, 0, 0, 5, tzinfo=UTC),
    finished_at=datetime(2026, 12, 1, 17, 1, tzinfo=UTC),
    postgres_version="18.6",
    manifest_sha256="ab" * 32,
    files={"base.tar.gz": FileDigest(3, "cd" * 32)},
    tablespaces=(Tablespace(16384, "/srv/table \udce9 space", "16384.tar.gz"),),
)


@given(RECORDS)
def test_records_come_back(record: StageRecord) -> None:
    text = record.to_json()
    assert StageRecord.from_json(text) == record
    assert StageRecord.from_json(text.encode()) == record


@given(st.integers(0, len(ONE.to_json()) - 1), st.sampled_from('0aZ"{}[]:,. \\'))
def test_a_changed_record_is_found_or_says_the_same(at: int, other: str) -> None:
    text = ONE.to_json()
    try:
        record = StageRecord.from_json(text[:at] + other + text[at + 1 :])
    except StageRecordError:
        return
    assert record == ONE


def resealed(change: dict[str, Any]) -> str:
    """A record that lies, but whose checksum is right."""
    document = json.loads(ONE.to_json()) | change
    del document["checksum"]
    compact = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return json.dumps(document | {"checksum": hashlib.sha256(compact.encode()).hexdigest()})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 2}, "format 2 is unknown"),
        ({"format": True}, "format is not of type int"),
        ({"id": "../20261201T170000Z"}, "id has the unexpected value"),
        ({"kind": "differential"}, "differential"),
        ({"kind": "incremental"}, "parent is not of type dict"),
        ({"parent": {"id": "20261201T170000Z"}}, "parent is not of type NoneType"),
        ({"system_identifier": "0"}, "system_identifier"),
        ({"timeline": 0}, "timeline is less than 1"),
        ({"start_lsn": "here"}, "log sequence number"),
        ({"started_at": "2026-12-01T17:00:00"}, "started_at has no time zone"),
        ({"files": {"../base.tar.gz": {}}}, "no archive of a backup"),
        ({"files": {"base.tar.gz": {"size": -1, "sha256": "a"}}}, "files.base.tar.gz.size"),
        ({"files": None}, "files is not of type dict"),
        ({"tablespaces": [{"oid": 1, "archive": "2.tar.gz"}]}, "is not called 1.tar.gz"),
        ({"postgres_version": ""}, "postgres_version"),
    ],
)
def test_records_that_lie_are_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(StageRecordError, match=problem):
        StageRecord.from_json(resealed(change))


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"format": 1, "format": 1}', "[" * 100_000, b"\xff", "1e999"]
)
def test_what_is_no_record_is_refused(text: str | bytes) -> None:
    with pytest.raises(StageRecordError):
        StageRecord.from_json(text)


def test_a_stage_is_read_with_and_without_its_record(tmp_path: Path) -> None:
    assert Stage.read(tmp_path) == Stage(tmp_path, None)
    (tmp_path / SIDECAR).write_text(ONE.to_json())
    assert Stage.read(tmp_path).record == ONE
    (tmp_path / SIDECAR).write_bytes(bytes(SIDECAR_LIMIT + 1))
    with pytest.raises(ArchiveUnreadableError, match="more than"):
        Stage.read(tmp_path)


def test_names_of_stages() -> None:
    generation = Path("/backups/20261201T170000Z")
    assert stage_name(generation / "full") == "full"
    increment = generation / "incremental" / "20261201T171500Z"
    assert stage_name(increment) == "incremental/20261201T171500Z"
