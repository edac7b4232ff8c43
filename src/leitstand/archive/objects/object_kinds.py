"""The job kinds for backups of objects; restic is a child of the worker that carries one out."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_backup import ObjectBackup, back_up_objects
from leitstand.archive.objects.object_check import CheckRequest, CheckResult, check_objects
from leitstand.archive.objects.object_rotation import rotate_objects
from leitstand.archive.objects.snapshot import SHOWN
from leitstand.errors import LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts

OpenArchive = Callable[[], AbstractAsyncContextManager[ObjectArchive]]
"""Gives the repository and its ledger for as long as the context lasts."""

REASONS = 10
"""How many reasons of a partial result are kept."""


class RepositoryDamagedError(LeitstandError):
    """A check of the repository found faults."""

    code = "OBJECT_REPOSITORY_DAMAGED"


class ObjectBackupParams(Params):
    """What to back up into one snapshot; see ``checked_sources`` for ``allow_empty``."""

    directories: list[Path] = Field(min_length=1)
    allow_empty: bool = False

    @field_validator("directories")
    @classmethod
    def _are_absolute(cls, directories: list[Path]) -> list[Path]:
        relative = [str(each) for each in directories if not each.is_absolute()]
        if relative:
            raise ValueError(f"must be absolute paths: {', '.join(relative)}")
        return directories


class ObjectBackupKind:
    """Takes a snapshot; what could not be read makes the run a partial failure."""

    kind: ClassVar[str] = "object-backup"
    params: ClassVar[type[Params]] = ObjectBackupParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, open_archive: OpenArchive) -> None:
        self._open_archive = open_archive

    async def execute(
        self, params: ObjectBackupParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Take it; raises what ``back_up_objects`` raises."""
        async with self._open_archive() as archive:
            made = await back_up_objects(
                params.directories, archive, reporter.progress, allow_empty=params.allow_empty
            )
        for line in backup_lines(made):
            reporter.log(line)
        return backup_result(made)


class ObjectCheckParams(Params):
    """Whether to read data beside the structure, and which part: one of ``slices`` at a time."""

    read_data: bool = False
    slices: int = Field(default=1, ge=1, le=256)


class ObjectCheckKind:
    """Checks the repository; a finding fails the run."""

    kind: ClassVar[str] = "object-check"
    params: ClassVar[type[Params]] = ObjectCheckParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, open_archive: OpenArchive) -> None:
        self._open_archive = open_archive

    async def execute(self, params: ObjectCheckParams, run: RunFacts, reporter: Reporter) -> Result:
        """Check; raises RepositoryDamagedError with the first findings."""
        reporter.progress(message="check")
        async with self._open_archive() as archive:
            result = await check_objects(archive, CheckRequest(params.read_data, params.slices))
        for finding in result.findings:
            reporter.log(finding)
        require_intact(result)
        return Result(objects_processed=result.snapshots, result=result.as_dict())


class ObjectRotateParams(Params):
    """How many snapshots to keep (None: as configured); ``dry_run`` removes nothing."""

    keep: int | None = None
    dry_run: bool = False


class ObjectRotateKind:
    """Removes the snapshots that retention gives up, and the data that no other one uses."""

    kind: ClassVar[str] = "object-rotate"
    params: ClassVar[type[Params]] = ObjectRotateParams
    isolation: ClassVar[Isolation] = Isolation.WORKER

    def __init__(self, open_archive: OpenArchive) -> None:
        self._open_archive = open_archive

    async def execute(
        self, params: ObjectRotateParams, run: RunFacts, reporter: Reporter
    ) -> Result:
        """Rotate; raises what ``rotate_objects`` raises."""
        async with self._open_archive() as archive:
            done = await rotate_objects(
                archive,
                params.keep,
                dry_run=params.dry_run,
                report=lambda phase: reporter.progress(message=phase),
            )
        for decision in done.decisions:
            verb = "keep" if decision.keep else "remove"
            reporter.log(f"{verb} {decision.id[:SHOWN]}: {'; '.join(decision.reasons)}")
        removed = 0 if done.dry_run else len(done.removed)
        return Result(
            objects_processed=removed, bytes_processed=done.freed or 0, result=done.as_dict()
        )


def require_intact(result: CheckResult) -> None:
    """Raise RepositoryDamagedError if there are findings."""
    if not result.ok:
        raise RepositoryDamagedError(
            f"the check of the repository has {len(result.findings)} findings",
            detail="\n".join(result.findings[:REASONS]),
            remedy="Keep the repository as it is, take a backup into another one, and see"
            " the chapter on damage in docs/backup.md.",
        )


def backup_result(made: ObjectBackup) -> Result:
    """A backup as a run's result: what could not be read counts as skipped."""
    return Result(
        bytes_processed=made.counts.bytes_processed,
        bytes_written=made.counts.bytes_added,
        objects_processed=made.counts.files,
        objects_skipped=made.left.count,
        skip_reasons=made.left.problems[:REASONS],
        result=made.as_dict(),
    )


def backup_lines(made: ObjectBackup) -> list[str]:
    """What there is to say about a backup, beside its numbers."""
    counts = made.counts
    lines = [
        f"{'partial snapshot' if made.is_partial else 'snapshot'} {made.snapshot.id[:SHOWN]}:"
        f" {counts.files_new} new, {counts.files_changed} changed,"
        f" {counts.files_unmodified} unmodified files, {counts.data_blobs} new blobs,"
        f" {counts.bytes_added} bytes added"
    ]
    if made.created:
        lines.append(f"repository {made.repository[:SHOWN]} was made")
    lines += [f"not in the snapshot: {problem}" for problem in made.left.problems]
    if made.dropped.count:
        named = ", ".join(made.dropped.names)
        lines.append(f"{made.dropped.count} sockets are in no backup: {named}")
    return lines
