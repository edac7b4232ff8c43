"""Checks the WAL of a backup: the segments that the manifest's ranges need, and their records.

``pg_verifybackup`` looks at no WAL in a tar; here the segments are laid out in a directory and
``pg_waldump`` reads every record in the ranges, each of which has a CRC. Outside the ranges only
the recorded digest of the archive proves anything.
"""

import os
import re
import signal
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.hindrance import KilledError
from leitstand.archive.postgres.finding import LISTED, FindingKind, Findings, shown
from leitstand.archive.postgres.lsn import format_lsn
from leitstand.archive.postgres.manifest import Manifest, WalRange
from leitstand.archive.postgres.stage import WAL
from leitstand.archive.postgres.tar_stream import Entry, EntryKind
from leitstand.store.binaries import Binaries

MIN_SEGMENT = 1 << 20
MAX_SEGMENT = 1 << 30
WALDUMP_PATIENCE = 60.0
"""Seconds that pg_waldump always gets, beside one for each WALDUMP_SPEED bytes of WAL."""
WALDUMP_SPEED = 10 << 20

_EXTRA_SEGMENTS = 256
_SEGMENT_NAME = re.compile(rb"[0-9A-F]{24}")
_OTHER_NAME = re.compile(
    rb"archive_status(/[0-9A-F]{8}([0-9A-F]{16}|\.history)\.done)?|[0-9A-F]{8}\.history"
)
_LONG_PAGE_HEADER = struct.Struct("=HHIQI4xQII")
"""XLogLongPageHeaderData (access/xlog_internal.h): magic, info, timeline, page address, remaining
length, system identifier, segment size, block size; in the byte order of the server's machine."""


@dataclass(frozen=True)
class Segment:
    """A WAL segment's name, taken apart: timeline and number in sequence."""

    timeline: int
    number: int

    @classmethod
    def parse(cls, name: bytes, size: int) -> "Segment":
        """From its 24 hexadecimal digits; ``size`` is that of all segments, in bytes."""
        high, low = int(name[8:16], 16), int(name[16:], 16)
        return cls(int(name[:8], 16), high * ((1 << 32) // size) + low)

    def name(self, size: int) -> str:
        """The file name, 24 hexadecimal digits."""
        high, low = divmod(self.number, (1 << 32) // size)
        return f"{self.timeline:08X}{high:08X}{low:08X}"


def needs(wal_range: WalRange, segment: Segment, size: int) -> bool:
    """Whether reading ``wal_range`` touches ``segment``."""
    return (
        wal_range.timeline == segment.timeline
        and wal_range.start // size <= segment.number <= (wal_range.end - 1) // size
    )


def needed_segments(wal_range: WalRange, size: int) -> Iterator[Segment]:
    """The segments that ``wal_range`` needs, in order, lazily: a forged range may be endless."""
    for number in range(wal_range.start // size, (wal_range.end - 1) // size + 1):
        yield Segment(wal_range.timeline, number)


def unpacked_wal_limit(manifest: Manifest | None, compressed: int) -> int:
    """Most bytes that ``pg_wal.tar.gz`` can rightly unpack to.

    Streaming goes on for a moment after the backup's end, so more than the ranges may be there.
    gzip cannot exceed 1032 to 1, which also holds for segments full of zeros.
    """
    most = 1100 * compressed + MIN_SEGMENT
    if manifest is None:
        return most
    needed = sum(r.end - r.start for r in manifest.wal_ranges)
    return min(most, 2 * needed + _EXTRA_SEGMENTS * MAX_SEGMENT)


class WalMembers:
    """An observer of ``pg_wal.tar.gz``: its names, sizes and first page headers."""

    def __init__(self, manifest: Manifest | None, findings: Findings) -> None:
        self._identifier = manifest.system_identifier if manifest else None
        self._findings = findings
        self._header = b""
        self._name: bytes | None = None
        self.segment_size: int | None = None
        self.segments: set[Segment] = set()

    def begin(self, entry: Entry) -> None:
        """Judge the member by its name and size."""
        self._header, self._name = b"", None
        if entry.kind is EntryKind.FILE and _SEGMENT_NAME.fullmatch(entry.name):
            self._begin_segment(entry)
        elif not _OTHER_NAME.fullmatch(entry.name):
            problem = f"{shown(entry.name)} is neither a WAL segment nor a time line history"
            self._findings.add(WAL, problem, FindingKind.UNEXPECTED)

    def piece(self, data: bytes) -> None:
        """Keep as much as the first page header needs."""
        if self._name is not None and len(self._header) < _LONG_PAGE_HEADER.size:
            self._header += data[: _LONG_PAGE_HEADER.size - len(self._header)]

    def end(self) -> None:
        """Compare the first page header with the segment's name and the system identifier."""
        if self._name is not None and self.segment_size is not None:
            problem = self._header_problem(self._name, self.segment_size)
            if problem is not None:
                self._findings.add(WAL, f"{shown(self._name)} {problem}")

    def _begin_segment(self, entry: Entry) -> None:
        size = entry.size
        if not MIN_SEGMENT <= size <= MAX_SEGMENT or size & (size - 1):
            self._findings.add(WAL, f"{shown(entry.name)} has {size} bytes, no size of a segment")
        elif self.segment_size not in (None, size):
            self._findings.add(WAL, f"{shown(entry.name)} is not as large as the other segments")
        else:
            self.segment_size, self._name = size, entry.name
            self.segments.add(Segment.parse(entry.name, size))

    def _header_problem(self, name: bytes, size: int) -> str | None:
        _, _, timeline, address, _, identifier, stated, _ = _LONG_PAGE_HEADER.unpack(self._header)
        segment = Segment.parse(name, size)
        if address != segment.number * size or stated != size or timeline > segment.timeline:
            return "does not begin with the page header of this segment"
        if self._identifier is not None and str(identifier) != self._identifier:
            return f"comes from another system ({identifier})"
        return None


class SegmentWriter:
    """An observer that lays the needed segments of an archive out in a directory of our own."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self._directory = directory
        self._ranges = manifest.wal_ranges
        self._fd: int | None = None

    def begin(self, entry: Entry) -> None:
        """Open a file for a needed segment."""
        if entry.kind is EntryKind.FILE and self._wanted(entry):
            path = self._directory / entry.name.decode()
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def piece(self, data: bytes) -> None:
        """Write on."""
        view = memoryview(data)
        while self._fd is not None and view:
            view = view[os.write(self._fd, view) :]

    def end(self) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close what a damaged archive left open."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _wanted(self, entry: Entry) -> bool:
        if not _SEGMENT_NAME.fullmatch(entry.name) or not MIN_SEGMENT <= entry.size <= MAX_SEGMENT:
            return False
        segment = Segment.parse(entry.name, entry.size)
        return any(needs(r, segment, entry.size) for r in self._ranges)


def check_ranges(
    directory: Path, manifest: Manifest, members: WalMembers, binaries: Binaries, findings: Findings
) -> None:
    """Report missing segments, and records that pg_waldump cannot read in ``directory``.

    Raises KilledError: what somebody else has ended found nothing.
    """
    if members.segment_size is None:
        needed = ", ".join(_place(wal_range) for wal_range in manifest.wal_ranges[:LISTED])
        problem = f"it holds no WAL segment; the backup needs {needed or 'at least one'}"
        findings.add(WAL, problem, FindingKind.MISSING)
        return
    for wal_range in manifest.wal_ranges:
        if _all_present(wal_range, members.segments, members.segment_size, findings):
            _dump(directory, wal_range, binaries, findings)


def _all_present(wal_range: WalRange, present: set[Segment], size: int, findings: Findings) -> bool:
    missing = 0
    for segment in needed_segments(wal_range, size):
        if segment not in present:
            missing += 1
            problem = f"the WAL segment {segment.name(size)} is not in the archive"
            findings.add(WAL, problem, FindingKind.MISSING)
        if missing > LISTED:
            break
    return not missing


def _dump(directory: Path, wal_range: WalRange, binaries: Binaries, findings: Findings) -> None:
    start, end = format_lsn(wal_range.start), format_lsn(wal_range.end)
    patience = WALDUMP_PATIENCE + (wal_range.end - wal_range.start) / WALDUMP_SPEED
    place = _place(wal_range)
    command = [binaries.path("pg_waldump"), "--quiet", f"--path={directory}"]
    command += [f"--timeline={wal_range.timeline}", f"--start={start}", f"--end={end}"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=patience, check=False, env={"LC_ALL": "C"}
        )
    except subprocess.TimeoutExpired:
        problem = f"pg_waldump did not get through {place} in {patience:.0f} s"
        findings.add(WAL, problem, FindingKind.UNREADABLE)
        return
    if done.returncode in (-signal.SIGKILL, -signal.SIGTERM):
        name = signal.Signals(-done.returncode).name
        raise KilledError(
            f"pg_waldump was killed ({name}) while it read {place}",
            remedy="Look whether memory was short (dmesg), and try again.",
        )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        findings.add(WAL, f"{place} cannot be read: {said or f'status {done.returncode}'}")


def _place(wal_range: WalRange) -> str:
    start, end = format_lsn(wal_range.start), format_lsn(wal_range.end)
    return f"the WAL from {start} to {end} on time line {wal_range.timeline}"
