"""Which generations a backup directory holds, in which state; cheap, no archive is opened.

Everything is told by the records (``backup.json``) and the sizes of the files; times of files mean
nothing here. Whatever else lies in the directory is passed over, and nothing that is broken in it
keeps the rest from being listed. A link or a file that is named like a generation is listed, as one
without any backup.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import structlog

from leitstand.archive.postgres.backup_lock import BackupStorageError
from leitstand.archive.postgres.chain import StageFacts, check_chain
from leitstand.archive.postgres.checks import (
    CHECKS,
    Check,
    CheckKind,
    drilled_to,
    last_failed,
    last_passed,
    read_checks,
)
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.layout import (
    generation_path,
    holds_backup,
    id_names,
    not_a_directory,
    stages_of,
)
from leitstand.archive.postgres.regular_file import ArchiveUnreadableError
from leitstand.archive.postgres.stage import (
    FULL_DIR,
    MANIFEST,
    SIDECAR,
    Stage,
    StageRecord,
    StageRecordError,
    stage_name,
)

log = structlog.get_logger(__name__)


class GenerationState(StrEnum):
    """What can be told without reading the archives."""

    COMPLETE = "complete"
    DAMAGED = "damaged"
    """A stage is broken, or does not follow the one before it."""
    INCOMPLETE = "incomplete"
    """There is no full backup with a record, so there is nothing to restore."""


@dataclass(frozen=True)
class StageEntry:
    """One stage as it lies there; ``size`` in bytes, ``record`` None where it cannot be read.

    ``tried_at`` is when a drill last restored to just this stage, ``drilled_at`` when one passed.
    """

    path: Path
    name: str
    size: int
    record: StageRecord | None
    findings: tuple[Finding, ...]
    tried_at: datetime | None = None
    drilled_at: datetime | None = None

    def as_dict(self) -> dict[str, object]:
        """An increment's JSON shape."""
        record = self.record
        return {
            "id": self.path.name,
            "parent": record.parent.id if record is not None and record.parent else None,
            "size": self.size,
            "started_at": _rfc3339(record.started_at if record else None),
            "finished_at": _rfc3339(record.finished_at if record else None),
            "ok": not self.findings,
            "drilled_at": _rfc3339(self.drilled_at),
        }


@dataclass(frozen=True)
class Generation:
    """A generation: the full backup (None if there is none), its increments by id, and findings.

    ``verified_at`` is when the one of its stages verified whose verification is the oldest; None
    when one never did. ``drilled_at`` is when its newest drill passed, to whichever stage.
    ``holds_backup``: there is a full backup that was once complete, be it damaged now.
    """

    path: Path
    full: StageEntry | None
    increments: tuple[StageEntry, ...]
    findings: tuple[Finding, ...]
    verified_at: datetime | None
    drilled_at: datetime | None
    holds_backup: bool = True

    @property
    def id(self) -> str:
        """The name of its directory."""
        return self.path.name

    @property
    def state(self) -> GenerationState:
        """Complete when nothing was found."""
        if self.full is None or self.full.record is None:
            return GenerationState.INCOMPLETE
        return GenerationState.DAMAGED if self.findings else GenerationState.COMPLETE

    @property
    def stages(self) -> tuple[StageEntry, ...]:
        """All stages, in the order of the chain."""
        return self.increments if self.full is None else (self.full, *self.increments)

    @property
    def size(self) -> int:
        """Bytes of all stages."""
        return sum(stage.size for stage in self.stages)

    @property
    def system_identifier(self) -> str | None:
        """Which cluster it comes from; None when no record says so."""
        record = self.full.record if self.full is not None else None
        return record.system_identifier if record is not None else None

    @property
    def started_at(self) -> datetime | None:
        """When its full backup began."""
        return self.full.record.started_at if self.full and self.full.record else None

    @property
    def finished_at(self) -> datetime | None:
        """When its newest stage that has a record was done."""
        times = [stage.record.finished_at for stage in self.stages if stage.record is not None]
        return max(times, default=None)

    def as_dict(self) -> dict[str, object]:
        """The generation's JSON shape."""
        return {
            "generation": self.id,
            "state": self.state.value,
            "size": self.size,
            "started_at": _rfc3339(self.started_at),
            "finished_at": _rfc3339(self.finished_at),
            "verified_at": _rfc3339(self.verified_at),
            "drilled_at": _rfc3339(self.drilled_at),
            "increments": [increment.as_dict() for increment in self.increments],
            "findings": [finding.as_dict() for finding in self.findings],
        }


def list_generations(directory: Path) -> tuple[Generation, ...]:
    """All generations in ``directory``, the oldest first; none if the directory does not exist.

    A generation that is taken or rotated meanwhile is listed as it was seen. Raises
    BackupStorageError when the directory itself cannot be read.
    """
    try:
        names = id_names(directory)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BackupStorageError.of(directory, error) from error
    return tuple(_listed(directory / name) for name in names)


def newest_of(generations: Sequence[Generation]) -> Generation | None:
    """The newest of ``generations`` (the oldest first) that holds a backup, be it damaged.

    What holds none (an empty directory, a link) hides no backup, and is told in the log. If there
    is nothing else, the last of them; None when there are none at all.
    """
    for generation in reversed(generations):
        if generation.holds_backup:
            return generation
        problem = generation.findings[0].problem if generation.findings else ""
        log.warning("passed over, it holds no backup", generation=generation.id, problem=problem)
    return generations[-1] if generations else None


def read_generation(directory: Path, name: str) -> Generation:
    """The generation called ``name``; raises NotFoundError."""
    return _generation(generation_path(directory, name))


def _listed(path: Path) -> Generation:
    wrong = not_a_directory(path)
    if wrong is None:
        return _generation(path)
    return Generation(path, None, (), (wrong,), None, None, holds_backup=False)


def _generation(path: Path) -> Generation:
    there = stages_of(path)
    stages = [_stage(stage, path.name) for stage in there.paths]
    found = [*there.findings, *(finding for stage in stages for finding in stage.findings)]
    full = stages[0] if stages and stages[0].path.name == FULL_DIR else None
    if full is not None:
        found += check_chain([_facts(stage) for stage in stages])
    checks, names = _checks(path, found), [stage.name for stage in stages]
    stages = [_with_drills(stage, checks) for stage in stages]
    failed = last_failed(checks, names)
    if failed is not None:
        problem = f"it did not verify at {_rfc3339(failed.timestamp)}: {failed.detail}"
        found.append(Finding(failed.stages[-1], "", problem, FindingKind.DAMAGED))
    return Generation(
        path=path,
        full=stages[0] if full is not None else None,
        increments=tuple(stages[1:] if full is not None else stages),
        findings=tuple(dict.fromkeys(found)),
        verified_at=last_passed(checks, CheckKind.VERIFY, names),
        drilled_at=last_passed(checks, CheckKind.DRILL, names[:1]),
        holds_backup=holds_backup(path),
    )


def _with_drills(stage: StageEntry, checks: Sequence[Check]) -> StageEntry:
    tried_at, drilled_at = drilled_to(checks, stage.name)
    return replace(stage, tried_at=tried_at, drilled_at=drilled_at)


def _checks(path: Path, found: list[Finding]) -> tuple[Check, ...]:
    try:
        return read_checks(path)
    except ArchiveUnreadableError as error:
        found.append(Finding("", CHECKS, error.message, FindingKind.UNREADABLE))
        return ()


def _stage(path: Path, generation: str) -> StageEntry:
    name, found = stage_name(path), list[Finding]()
    backup_id = generation if name == FULL_DIR else path.name
    sizes = _sizes(path, name, found)
    record = _record(path, name, found)
    if record is not None:
        found += _compare(record, sizes, name)
        if (record.generation, record.id) != (generation, backup_id):
            problem = f"it belongs to the backup {record.generation}/{record.id}"
            found.append(Finding(name, SIDECAR, problem, FindingKind.CHAIN))
    return StageEntry(path, name, sum(sizes.values()), record, tuple(found))


def _sizes(path: Path, name: str, found: list[Finding]) -> dict[str, int]:
    """The sizes of the regular files in ``path``."""
    sizes = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    sizes[entry.name] = status.st_size
    except OSError as error:
        problem = f"the directory cannot be read: {error.strerror}"
        found.append(Finding(name, "", problem, FindingKind.UNREADABLE))
    return sizes


def _record(path: Path, name: str, found: list[Finding]) -> StageRecord | None:
    try:
        record = Stage.read(path).record
    except StageRecordError as error:
        found.append(Finding(name, SIDECAR, error.message, FindingKind.DAMAGED))
        return None
    except ArchiveUnreadableError as error:
        found.append(Finding(name, SIDECAR, error.message, FindingKind.UNREADABLE))
        return None
    if record is None:
        found.append(Finding(name, SIDECAR, "it does not exist", FindingKind.MISSING))
    return record


def _compare(record: StageRecord, sizes: dict[str, int], name: str) -> list[Finding]:
    found = []
    for file, digest in record.files.items():
        if file not in sizes:
            found.append(Finding(name, file, "it does not exist", FindingKind.MISSING))
        elif sizes[file] != digest.size:
            problem = f"it has {sizes[file]} bytes, {SIDECAR} says {digest.size}"
            found.append(Finding(name, file, problem, FindingKind.DAMAGED))
    if MANIFEST not in sizes:
        found.append(Finding(name, MANIFEST, "it does not exist", FindingKind.MISSING))
    return found


def _facts(stage: StageEntry) -> StageFacts:
    record = stage.record
    return StageFacts(
        name=stage.name,
        id=stage.path.name,
        label=None,
        system_identifier=record.system_identifier if record else None,
        manifest_sha256=record.manifest_sha256 if record else None,
        record=record,
    )


def _rfc3339(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="microseconds").replace("+00:00", "Z")
