"""Checks one stage, each archive read once: manifest, record, label, tablespaces, WAL ranges."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from leitstand.archive.held_directory import held_directory, sweep
from leitstand.archive.hindrance import HindranceError
from leitstand.archive.postgres import config_files, record_check
from leitstand.archive.postgres.archive_pass import ArchivePass, BackupFile, Observer
from leitstand.archive.postgres.chain import StageFacts
from leitstand.archive.postgres.finding import Finding, FindingKind, Findings
from leitstand.archive.postgres.label import (
    LABEL,
    TABLESPACE_MAP,
    BackupLabel,
    LabelError,
    Position,
    SmallFiles,
    parse_label,
    parse_tablespace_map,
)
from leitstand.archive.postgres.manifest import (
    MANIFEST_LIMIT,
    Manifest,
    ManifestError,
    parse_manifest,
)
from leitstand.archive.postgres.manifest_check import (
    ManifestCheck,
    check_directories,
    unpacked_limit,
)
from leitstand.archive.postgres.regular_file import (
    ArchiveMissingError,
    ArchiveUnreadableError,
    read_small,
)
from leitstand.archive.postgres.stage import (
    BASE,
    MANIFEST,
    SIDECAR,
    WAL,
    FileDigest,
    Stage,
    StageRecord,
    StageRecordError,
    stage_name,
)
from leitstand.archive.postgres.wal_check import (
    SegmentWriter,
    WalMembers,
    check_ranges,
    unpacked_wal_limit,
)
from leitstand.display import counted
from leitstand.store.binaries import Binaries

T = TypeVar("T")

SCRATCH_PREFIX = "leitstand-wal-"

_ARCHIVE_SUFFIX = ".tar.gz"
_MAKE_ROOM = "Make room there. It is drill.directory if that exists, else TMPDIR."


class ScratchError(HindranceError):
    """The temporary directory for WAL cannot be written; says nothing about the backup."""

    code = "SCRATCH_SPACE"


class Destination(Protocol):
    """Where a check that also restores puts what it reads."""

    def observer(self, archive: str) -> Observer | None:
        """Who writes the members of ``archive`` (a file name); None to only check it."""

    @property
    def wants_wal(self) -> bool:
        """Whether the WAL matters: else the digest that was recorded for it is proof enough."""

    @property
    def wal_directory(self) -> Path | None:
        """Where the writer of the WAL archive puts the segments; None when nobody does."""


class Nowhere:
    """The destination of a check that restores nothing."""

    wants_wal = True
    wal_directory: Path | None = None

    def observer(self, archive: str) -> Observer | None:
        """Nobody writes ``archive``."""


@dataclass(frozen=True)
class StageReport:
    """One stage's result. ``findings`` make it unusable, ``notes`` say what nobody can prove.

    ``tablespaces`` are the directories on the server by oid; ``bytes_read`` counts compressed
    bytes.
    """

    facts: StageFacts
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    tablespaces: Mapping[int, bytes]
    bytes_read: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the stage by itself; the chain is another matter."""
        return not self.findings


class StageCheck:
    """The check of one stage, run once. ``on_bytes`` is told the file and each count of bytes."""

    def __init__(
        self,
        path: Path,
        binaries: Binaries,
        on_bytes: Callable[[str, int], None],
        destination: Destination,
        scratch: Path | None,
    ) -> None:
        self._path = path
        self._binaries = binaries
        self._on_bytes = on_bytes
        self._destination = destination
        self._scratch = scratch or Path(tempfile.gettempdir())
        self._findings = Findings(stage_name(path))
        self._notes = Findings(stage_name(path))
        self._digests: dict[str, FileDigest] = {}
        self._cut: dict[str, FindingKind] = {}
        self._bytes_read = 0
        self._label: BackupLabel | None = None
        self._tablespaces: dict[int, bytes] = {}

    def run(self) -> StageReport:
        """Check everything; raises ScratchError and what the destination raises."""
        record = self._read_record()
        manifest = self._read_manifest()
        present = self._list_archives()
        checked = ManifestCheck(manifest, self._findings) if manifest else None
        self._check_base(manifest, checked)
        recorded = {space.archive for space in record.tablespaces} if record else set()
        mapped = {f"{oid}{_ARCHIVE_SUFFIX}" for oid in self._tablespaces}
        self._check_tablespaces(manifest, checked, present | recorded | mapped, recorded | mapped)
        if self._destination.wants_wal or record is None:
            self._check_wal(manifest)
        else:
            self._hash(WAL)
        if manifest is not None:
            self._check_label(manifest)
        self._check_record(record, manifest)
        return self._report(record, manifest)

    def _read_record(self) -> StageRecord | None:
        try:
            record = Stage.read(self._path).record
        except StageRecordError as error:
            self._findings.add(SIDECAR, error.message)
            return None
        except ArchiveUnreadableError as error:
            self._findings.add(SIDECAR, error.message, FindingKind.UNREADABLE)
            return None
        if record is None:
            problem = (
                "it does not exist, so that bytes which neither the manifest nor a CRC covers"
                " (unused WAL, gzip header fields) are not proven"
            )
            self._notes.add(SIDECAR, problem, FindingKind.UNPROVEN)
        return record

    def _read_manifest(self) -> Manifest | None:
        try:
            content = read_small(self._path / MANIFEST, MANIFEST_LIMIT, self._count(MANIFEST))
            manifest = parse_manifest(content)
        except ManifestError as error:
            self._findings.add(MANIFEST, error.message)
            return None
        except ArchiveUnreadableError as error:
            self._findings.add(MANIFEST, error.message, _kind(error))
            return None
        unsummed = sum(file.algorithm == "NONE" for file in manifest.files.values())
        if unsummed:
            problem = (
                f"{counted(unsummed, 'file')} without a checksum in it: only sizes were compared"
            )
            self._notes.add(MANIFEST, problem, FindingKind.UNPROVEN)
        return manifest

    def _list_archives(self) -> set[str]:
        try:
            return {p.name for p in self._path.iterdir() if p.name.endswith(_ARCHIVE_SUFFIX)}
        except OSError as error:
            problem = f"the directory cannot be listed: {error.strerror}"
            self._findings.add("", problem, FindingKind.UNREADABLE)
            return set()

    def _check_base(self, manifest: Manifest | None, checked: ManifestCheck | None) -> None:
        small = SmallFiles(LABEL, TABLESPACE_MAP)
        members = checked.observer(BASE, b"") if checked else None
        observers: list[Observer] = [small, members] if members else [small]
        complete = self._pass(BASE, observers, lambda size: unpacked_limit(manifest, size))
        if complete and members is not None:
            check_directories(members.directories, BASE, self._findings)
        self._label = self._parse(parse_label, LABEL, small, needed=complete)
        mapped = self._parse(parse_tablespace_map, TABLESPACE_MAP, small, needed=False)
        self._tablespaces = mapped or {}

    def _parse(
        self, parse: Callable[[bytes], T], name: bytes, small: SmallFiles, *, needed: bool
    ) -> T | None:
        file = f"{BASE}:{name.decode()}"
        if name not in small.contents:
            if needed:
                self._findings.add(file, "it is not in the archive", FindingKind.MISSING)
            return None
        try:
            return parse(small.contents[name])
        except LabelError as error:
            self._findings.add(file, error.message)
            return None

    def _check_tablespaces(
        self,
        manifest: Manifest | None,
        checked: ManifestCheck | None,
        archives: set[str],
        expected: set[str],
    ) -> None:
        oids = set()
        for archive in sorted(archives - {BASE, WAL}):
            oid = archive.removesuffix(_ARCHIVE_SUFFIX)
            if archive not in expected:
                problem = "it belongs to no tablespace of this backup"
                self._findings.add(archive, problem, FindingKind.UNEXPECTED)
            if not (oid.isascii() and oid.isdigit()):
                continue
            oids.add(int(oid))
            prefix = f"pg_tblspc/{oid}/".encode()
            observers = [checked.observer(archive, prefix)] if checked else []
            self._pass(archive, observers, lambda size: unpacked_limit(manifest, size))
        if checked is not None:
            checked.missing(frozenset(oids), self._cut)

    def _check_wal(self, manifest: Manifest | None) -> None:
        members = WalMembers(manifest, self._findings)
        with ExitStack() as stack:
            directory = self._destination.wal_directory
            observers: list[Observer] = [members]
            if directory is None and manifest is not None:
                directory = stack.enter_context(self._scratch_directory())
                writer = SegmentWriter(directory, manifest)
                observers.append(stack.enter_context(closing(writer)))
            complete = self._pass(WAL, observers, lambda size: unpacked_wal_limit(manifest, size))
            if complete and manifest is not None and directory is not None:
                check_ranges(directory, manifest, members, self._binaries, self._findings)

    def _check_label(self, manifest: Manifest) -> None:
        if self._label is None:
            return
        starts = {Position(r.timeline, r.start) for r in manifest.wal_ranges}
        if self._label.start not in starts:
            problem = f"it says the backup starts where no WAL range of {MANIFEST} does"
            self._findings.add(f"{BASE}:{LABEL.decode()}", problem)

    def _check_record(self, record: StageRecord | None, manifest: Manifest | None) -> None:
        if record is None:
            return
        record_check.check_digests(record, self._digests, self._findings)
        self._check_config_files(record)
        if manifest is not None:
            record_check.check_manifest(record, manifest, self._findings)
        if self._label is not None:
            record_check.check_label(record, self._label, BASE, self._findings)
            record_check.check_tablespaces(record, self._tablespaces, BASE, self._findings)

    def _check_config_files(self, record: StageRecord) -> None:
        if record.config_sha256 is None:
            return
        try:
            document = config_files.read_document(self._path)
        except ArchiveUnreadableError as error:
            self._findings.add(config_files.CONFIG_FILES, error.message, _kind(error))
            return
        if config_files.digest_of(document) != record.config_sha256:
            problem = f"its SHA-256 is not the one in {SIDECAR}"
            self._findings.add(config_files.CONFIG_FILES, problem)

    def _pass(
        self, archive: str, observers: Sequence[Observer], limit: Callable[[int], int]
    ) -> bool:
        """Read ``archive`` once; whether it was whole. Faults become findings."""
        writer = self._destination.observer(archive)
        reading = ArchivePass(self._path / archive, self._count(archive))
        try:
            reading.run([*observers, writer] if writer else observers, limit)
        except ArchiveUnreadableError as error:
            self._cannot_read(archive, error)
        except OSError as error:  # the backup's own read errors are ArchiveUnreadableError
            raise ScratchError(
                f"the WAL cannot be unpacked in {self._scratch}: {error.strerror}",
                remedy=_MAKE_ROOM,
            ) from error
        if reading.digest is not None:
            self._digests[archive] = reading.digest
        if reading.damage is not None:
            self._cut[archive] = FindingKind.DAMAGED
            self._findings.add(archive, reading.damage.message)
        return archive not in self._cut

    def _hash(self, archive: str) -> None:
        """Read ``archive`` for its digest alone, which ``check_digests`` compares."""
        try:
            with closing(BackupFile(self._path / archive, self._count(archive))) as file:
                self._digests[archive] = file.digest()
        except ArchiveUnreadableError as error:
            self._cannot_read(archive, error)

    def _cannot_read(self, archive: str, error: ArchiveUnreadableError) -> None:
        self._cut[archive] = _kind(error)
        self._findings.add(archive, error.message, _kind(error))

    def _count(self, file: str) -> Callable[[int], None]:
        def count(read: int) -> None:
            self._bytes_read += read
            self._on_bytes(file, read)

        return count

    @contextmanager
    def _scratch_directory(self) -> Iterator[Path]:
        """Room for WAL; what killed verifications left there goes first."""
        with ExitStack() as stack:
            try:
                sweep(self._scratch, SCRATCH_PREFIX)
                directory = stack.enter_context(held_directory(self._scratch, SCRATCH_PREFIX))
            except OSError as error:
                raise ScratchError(
                    f"no directory can be made in {self._scratch}: {error.strerror}",
                    remedy=_MAKE_ROOM,
                ) from error
            yield directory

    def _report(self, record: StageRecord | None, manifest: Manifest | None) -> StageReport:
        identifier = manifest.system_identifier if manifest else None
        facts = StageFacts(
            name=stage_name(self._path),
            id=self._path.name,
            label=self._label,
            system_identifier=identifier or (record.system_identifier if record else None),
            manifest_sha256=manifest.sha256 if manifest else None,
            record=record,
        )
        return StageReport(
            facts=facts,
            findings=tuple(self._findings),
            notes=tuple(self._notes),
            tablespaces=self._tablespaces,
            bytes_read=self._bytes_read,
        )


def _kind(error: ArchiveUnreadableError) -> FindingKind:
    missing = isinstance(error, ArchiveMissingError)
    return FindingKind.MISSING if missing else FindingKind.UNREADABLE
