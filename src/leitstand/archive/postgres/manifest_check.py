"""Compares what the archives of one stage hold with the manifest, both ways."""

from collections.abc import Mapping
from dataclasses import dataclass

from leitstand.archive.postgres.finding import FindingKind, Findings, shown
from leitstand.archive.postgres.manifest import Checksum, Manifest, ManifestFile, new_checksum
from leitstand.archive.postgres.tar_stream import BLOCK, Entry, EntryKind
from leitstand.display import counted

_SLACK = 64 << 20

# What initdb creates (subdirs in initdb.c) and a server does not start without. The manifest lists
# files only, so an empty directory that got lost would show up at the start at the earliest.
NEEDED_DIRECTORIES = (
    b"base",
    b"global",
    b"pg_commit_ts",
    b"pg_dynshmem",
    b"pg_logical",
    b"pg_logical/mappings",
    b"pg_logical/snapshots",
    b"pg_multixact",
    b"pg_multixact/members",
    b"pg_multixact/offsets",
    b"pg_notify",
    b"pg_replslot",
    b"pg_serial",
    b"pg_snapshots",
    b"pg_stat",
    b"pg_stat_tmp",
    b"pg_subtrans",
    b"pg_tblspc",
    b"pg_twophase",
    b"pg_wal",
    b"pg_xact",
)


class ManifestCheck:
    """The files of one manifest, crossed off as the archives show them."""

    def __init__(self, manifest: Manifest, findings: Findings) -> None:
        self._left = dict(manifest.files)
        self._known = manifest.files
        self._findings = findings

    def observer(self, archive: str, prefix: bytes) -> "MemberCheck":
        """An observer for ``archive``, whose members lie below ``prefix`` in the manifest."""
        return MemberCheck(self, archive, prefix, self._findings)

    def take(self, archive: str, path: bytes) -> ManifestFile | None:
        """Cross ``path`` off; None, and a finding, when it is not (or no longer) listed."""
        found = self._left.pop(path, None)
        if found is None:
            why = "is there a second time" if path in self._known else "is not in the manifest"
            self._findings.add(archive, f"{shown(path)} {why}", FindingKind.UNEXPECTED)
        return found

    def missing(self, oids: frozenset[int], cut: Mapping[str, FindingKind]) -> None:
        """Report what no archive held. Those in ``cut`` were not read to their end, for a reason of
        the given kind: one finding of that kind counts what was not reached in them. ``oids`` are
        the tablespaces with own archives.
        """
        unreached: dict[str, int] = {}
        for path in self._left:
            archive = archive_of(path, oids)
            if archive in cut:
                unreached[archive] = unreached.get(archive, 0) + 1
            else:
                problem = f"{shown(path)} is in the manifest, but not in the archive"
                self._findings.add(archive, problem, FindingKind.MISSING)
        for archive, count in unreached.items():
            problem = f"{counted(count, 'file')} of the manifest could not be reached in it"
            self._findings.add(archive, problem, cut[archive])


@dataclass
class _Open:
    """The member being compared."""

    path: bytes
    expected: ManifestFile
    size: int
    checksum: Checksum


class MemberCheck:
    """An observer that compares each regular file's size and checksum with the manifest's."""

    def __init__(
        self, check: ManifestCheck, archive: str, prefix: bytes, findings: Findings
    ) -> None:
        self._check = check
        self._archive = archive
        self._prefix = prefix
        self._findings = findings
        self._open: _Open | None = None
        self.directories: set[bytes] = set()

    def begin(self, entry: Entry) -> None:
        """Look the member up; a wrong size is reported at once."""
        self._open = None
        path = self._prefix + entry.name
        if entry.kind is EntryKind.DIRECTORY:
            self.directories.add(path)
        elif expected := self._check.take(self._archive, path):
            self._compare_size(path, entry.size, expected)
            self._open = _Open(path, expected, entry.size, new_checksum(expected.algorithm))

    def piece(self, data: bytes) -> None:
        """Take the next bytes into the checksum."""
        if self._open is not None:
            self._open.checksum.update(data)

    def end(self) -> None:
        """Compare the checksum; not where the size is wrong, which says enough."""
        done = self._open
        if done is None or done.size != done.expected.size:
            return
        if done.checksum.digest() != done.expected.checksum:
            problem = f"{shown(done.path)} has another {done.expected.algorithm} than the manifest"
            self._findings.add(self._archive, problem)

    def _compare_size(self, path: bytes, size: int, expected: ManifestFile) -> None:
        if size != expected.size:
            problem = f"{shown(path)} has {size} bytes, the manifest says {expected.size}"
            self._findings.add(self._archive, problem)


def check_directories(directories: set[bytes], archive: str, findings: Findings) -> None:
    """Report the directories that every data directory needs and ``archive`` lacks."""
    for name in NEEDED_DIRECTORIES:
        if name not in directories:
            problem = f"the directory {shown(name)} is not in the archive"
            findings.add(archive, problem, FindingKind.MISSING)


def archive_of(path: bytes, oids: frozenset[int]) -> str:
    """The archive that should hold the manifest's ``path``."""
    parts = path.split(b"/", 2)
    if (
        len(parts) == 3
        and parts[0] == b"pg_tblspc"
        and parts[1].isdigit()
        and int(parts[1]) in oids
    ):
        return f"{int(parts[1])}.tar.gz"
    return "base.tar.gz"


def unpacked_limit(manifest: Manifest | None, compressed: int) -> int:
    """Most bytes that a data archive of ``compressed`` bytes can rightly unpack to.

    Without a manifest the ratio alone must do: relation files seldom pack better than 100 to 1.
    """
    if manifest is None:
        return 200 * compressed + _SLACK
    return _SLACK + sum(file.size + 2 * BLOCK for file in manifest.files.values())
