"""The WAL of a backup: the right segments, of the right system, with every record readable."""

import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.finding import FindingKind, Findings
from leitstand.archive.postgres.manifest import Manifest, WalRange, parse_manifest
from leitstand.archive.postgres.stage import BASE, MANIFEST, SIDECAR, WAL
from leitstand.archive.postgres.tar_stream import Entry, EntryKind
from leitstand.archive.postgres.verify import verify_stage
from leitstand.archive.postgres.wal_check import (
    MIN_SEGMENT,
    Segment,
    WalMembers,
    needed_segments,
    needs,
    unpacked_wal_limit,
)
from tests.archive.postgres.backup_scene import Scene, segments_of
from tests.archive.postgres.damage import flip, replace, stage_paths
from tests.archive.postgres.tar_writer import BLOCK, boundaries, read_gz, write_gz

SIZES = st.integers(20, 30).map(lambda power: 1 << power)


@given(st.integers(1, (1 << 32) - 1), st.integers(0, (1 << 34) - 1), SIZES)
def test_segment_names_there_and_back(timeline: int, number: int, size: int) -> None:
    segment = Segment(timeline, number % ((1 << 64) // size))
    assert Segment.parse(segment.name(size).encode(), size) == segment


def test_segment_name_as_postgres_writes_it() -> None:
    """SELECT pg_walfile_name('16/B374D848')"""
    segment = Segment(1, 0x16_B374_D848 // (16 << 20))
    assert segment.name(16 << 20) == "0000000100000016000000B3"


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 26))
def test_needed_segments_are_those_that_are_touched(start: int, length: int) -> None:
    size = 16 << 20
    wal_range = WalRange(1, start, start + length)
    needed = list(needed_segments(wal_range, size))
    assert needed[0].number * size <= start
    assert needed[-1].number * size < start + length <= (needed[-1].number + 1) * size
    around = range(max(0, start // size - 2), start // size + 8)
    assert [n for n in around if needs(wal_range, Segment(1, n), size)] == [
        segment.number for segment in needed
    ]
    assert not needs(wal_range, Segment(2, needed[0].number), size)


def test_an_endless_range_costs_nothing() -> None:
    forged = WalRange(1, 0, (1 << 64) - 1)
    assert next(needed_segments(forged, MIN_SEGMENT)) == Segment(1, 0)
    manifest = Manifest(2, "75", {}, (forged,), "")
    assert unpacked_wal_limit(manifest, 1000) < 3 << 20


def page_header(segment: Segment, identifier: int, size: int = MIN_SEGMENT) -> bytes:
    """XLogLongPageHeaderData (access/xlog_internal.h)."""
    address = segment.number * size
    return struct.pack(
        "=HHIQI4xQII", 0xD118, 2, segment.timeline, address, 0, identifier, size, 8192
    )


def observed(name: bytes, header: bytes, size: int = MIN_SEGMENT) -> list[str]:
    """What is said about one member of a WAL archive of the system 75."""
    findings = Findings("full")
    members = WalMembers(Manifest(2, "75", {}, (), ""), findings)
    members.begin(Entry(name, EntryKind.FILE, size, 0o600))
    for byte in header:
        members.piece(bytes([byte]))
    members.end()
    return [finding.problem for finding in findings]


SEGMENT = Segment(1, 5)
NAME = SEGMENT.name(MIN_SEGMENT).encode()


@pytest.mark.parametrize(
    ("name", "header", "problem"),
    [
        (NAME, page_header(SEGMENT, 76), "comes from another system (76)"),
        (NAME, page_header(Segment(1, 6), 75), "does not begin with the page header"),
        (NAME, page_header(Segment(2, 5), 75), "does not begin with the page header"),
        (NAME, page_header(SEGMENT, 75, 2 << 20), "does not begin with the page header"),
        (b"pg_wal", b"", "neither a WAL segment nor a time line history"),
        (b"00000001000000000000000a", b"", "neither a WAL segment nor a time line history"),
    ],
)
def test_segments_that_are_not_what_they_are_called(
    name: bytes, header: bytes, problem: str
) -> None:
    (said,) = observed(name, header)
    assert problem in said


@pytest.mark.parametrize(
    "name",
    [
        b"00000002.history",
        b"archive_status",
        b"archive_status/00000002.history.done",
        b"archive_status/000000010000000000000002.done",
    ],
)
def test_what_else_may_be_there(name: bytes) -> None:
    assert observed(name, b"") == []


def test_sound_segments_of_older_time_lines() -> None:
    """The first segment after a promotion begins with a page of the old time line."""
    assert observed(NAME, page_header(SEGMENT, 75)) == []
    assert observed(Segment(2, 5).name(MIN_SEGMENT).encode(), page_header(SEGMENT, 75)) == []


def test_segments_of_strange_or_different_sizes() -> None:
    assert observed(NAME, b"", 3 << 20) == [
        f"{NAME.decode()} has {3 << 20} bytes, no size of a segment"
    ]
    findings = Findings("full")
    members = WalMembers(None, findings)
    for number, size in ((1, MIN_SEGMENT), (2, 2 * MIN_SEGMENT)):
        members.begin(Entry(Segment(1, number).name(size).encode(), EntryKind.FILE, size, 0o600))
    (finding,) = findings
    assert "not as large as the other segments" in finding.problem


@pytest.fixture
def stage(generation: Path) -> Iterator[Path]:
    """A full backup without its record, whose digests would find everything here."""
    (generation / "full" / SIDECAR).unlink()
    yield generation / "full"


def flip_wal(stage: Path, offset: int) -> None:
    """Change a byte ``offset`` bytes after the start of the needed WAL; gzip and tar stay right."""
    wal_range = parse_manifest((stage / MANIFEST).read_bytes()).wal_ranges[0]
    archive = read_gz(stage / WAL)
    wanted = next(needed_segments(wal_range, MIN_SEGMENT)).name(MIN_SEGMENT).encode()
    member = next(at for at in boundaries(archive) if archive[at : at + 24] == wanted)
    at = member + BLOCK + wal_range.start % MIN_SEGMENT + offset
    write_gz(stage / WAL, flip(archive, at))


def test_a_changed_record_is_found(scene: Scene, stage: Path) -> None:
    """Case 13, the subtle form: only pg_waldump sees it."""
    flip_wal(stage, 26)
    (finding,) = verify_stage(stage, scene.binaries).findings
    assert (finding.file, finding.kind) == (WAL, FindingKind.DAMAGED)
    assert "cannot be read: pg_waldump: error" in finding.problem


def test_a_change_outside_the_needed_wal_needs_the_record(scene: Scene, generation: Path) -> None:
    """Nothing but the recorded digest covers it, which the note without a record says."""
    stage = generation / "full"
    archive = read_gz(stage / WAL)
    *_, (_, end) = (span for span in pairwise(boundaries(archive)) if span[1] - span[0] > BLOCK)
    write_gz(stage / WAL, flip(archive, end - 1))
    (finding,) = verify_stage(stage, scene.binaries).findings
    assert finding.file == WAL
    assert SIDECAR in finding.problem
    (stage / SIDECAR).unlink()
    report = verify_stage(stage, scene.binaries)
    assert report.ok
    assert [note.kind for note in report.notes] == [FindingKind.UNPROVEN]


def test_wal_cannot_be_judged_without_the_manifest(scene: Scene, stage: Path) -> None:
    (stage / MANIFEST).unlink()
    replace(stage / WAL, (stage / BASE).read_bytes()[:500])
    found = verify_stage(stage, scene.binaries).findings
    assert {f.file for f in found} == {MANIFEST, WAL}


def without(archive: bytes, name: bytes) -> bytes:
    """An archive without the members whose names begin so."""
    spans = [archive[start:end] for start, end in pairwise(boundaries(archive))]
    kept = [span for span in spans if not span.startswith(name)]
    return b"".join(kept) + archive[boundaries(archive)[-1] :]


@pytest.mark.parametrize("number", range(3), ids=["full", "first increment", "last increment"])
def test_every_needed_segment_is_missed(scene: Scene, generation: Path, number: int) -> None:
    """Case 13: the first, those in the middle, and the last, which the backup ends in."""
    stage = stage_paths(generation)[number]
    (stage / SIDECAR).unlink()
    archive, needed = read_gz(stage / WAL), segments_of(stage)
    assert len(needed) > 1
    for name in needed:
        write_gz(stage / WAL, without(archive, name))
        (finding,) = verify_stage(stage, scene.binaries).findings
        assert (finding.file, finding.kind) == (WAL, FindingKind.MISSING)
        assert finding.problem == f"the WAL segment {name.decode()} is not in the archive"


def test_archive_without_any_segment(scene: Scene, stage: Path) -> None:
    """As when a backup needs one segment only, and just that is lost."""
    write_gz(stage / WAL, without(read_gz(stage / WAL), b"0000000"))
    (finding,) = verify_stage(stage, scene.binaries).findings
    assert finding.kind is FindingKind.MISSING
    assert "it holds no WAL segment; the backup needs the WAL from 0/" in finding.problem
    write_gz(stage / WAL, b"")
    (finding,) = verify_stage(stage, scene.binaries).findings
    assert (finding.kind, finding.problem) == (FindingKind.DAMAGED, "it holds an empty gzip member")
