"""Checks the repository: its structure, its data if asked to, and that no snapshot has vanished."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_ledger import ObjectLedger, Record, RepositoryCheck
from leitstand.archive.objects.opening import OpenRepository, open_repository
from leitstand.archive.objects.read_slices import next_slice
from leitstand.archive.objects.restic import Answer
from leitstand.archive.objects.restic_errors import ResticError
from leitstand.archive.objects.snapshot import SHOWN, snapshots_in

FINDINGS_KEPT = 100

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class CheckRequest:
    """With ``read_data`` also a part of all data, one of ``slices``; 1 is everything.

    With ``accept_missing`` snapshots that are gone are no longer expected.
    """

    read_data: bool = False
    slices: int = 1
    accept_missing: bool = False


@dataclass(frozen=True)
class CheckResult:
    """What a check found; ``slice`` of ``slices`` was read, None where only the structure was."""

    repository: str
    started_at: datetime
    findings: tuple[str, ...]
    missing: tuple[str, ...]
    snapshots: int
    slice: int | None = None
    slices: int | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """The check's JSON shape."""
        return {
            "ok": self.ok,
            "repository": self.repository,
            "started_at": self.started_at.isoformat(),
            "snapshots": self.snapshots,
            "read_data": self.slice is not None,
            "slice": self.slice,
            "slices": self.slices,
            "findings": list(self.findings),
            "missing_snapshots": list(self.missing),
        }


async def check_objects(archive: ObjectArchive, request: CheckRequest) -> CheckResult:
    """Check, and note the outcome. Raises what ``open_repository`` raises, and when the check
    could not be made at all; what it finds is no error."""
    ledger = archive.ledger
    opened = await open_repository(archive.repository, ledger)
    part = await _part(ledger, opened.id, request)
    began = datetime.now(UTC)
    answer = await opened.restic.call(*_arguments(opened, request, part))
    present = {each.id for each in await snapshots_in(opened.restic)}
    gone = [each for each in await ledger.records(opened.id) if each.snapshot not in present]
    if request.accept_missing and gone:
        await ledger.removed(opened.id, [each.snapshot for each in gone])
        log.warning("snapshots are gone, and no longer expected", snapshots=_ids(gone))
        gone = []
    result = CheckResult(
        repository=opened.id,
        started_at=began,
        findings=(*_findings(opened, answer), *map(_vanished, gone))[:FINDINGS_KEPT],
        missing=_ids(gone),
        snapshots=len(present),
        slice=part,
        slices=None if part is None else request.slices,
    )
    await ledger.record_check(
        opened.id, RepositoryCheck(began, result.ok, part, result.slices, result.findings)
    )
    return result


async def _part(ledger: ObjectLedger, repository: str, request: CheckRequest) -> int | None:
    if not request.read_data:
        return None
    return next_slice(await ledger.checks(repository), request.slices)


def _arguments(opened: OpenRepository, request: CheckRequest, part: int | None) -> list[str]:
    arguments = ["check"]
    if opened.directory is not None:
        arguments.append("--no-cache")  # what is on the disk is the question
    if part is not None:
        whole = request.slices == 1
        arguments.append("--read-data" if whole else f"--read-data-subset={part}/{request.slices}")
    return arguments


def _findings(opened: OpenRepository, answer: Answer) -> tuple[str, ...]:
    """What restic says is wrong; raises where it could not look."""
    if answer.exit_code == 0:
        return ()
    error = opened.restic.failure("check", answer)
    if type(error) is not ResticError:
        raise error
    said = [line for line in answer.words.lines if line.strip() and not _is_advice(line)]
    return tuple(said) or (error.message,)


def _is_advice(line: str) -> bool:
    """Restic's own conclusions and recommendations, which newer versions give at length."""
    return line.startswith(
        (
            "Fatal: repository contains errors",
            "The repository ",
            "Damaged pack files can be",
            "restic repair",
        )
    )


def _vanished(record: Record) -> str:
    return (
        f"snapshot {record.snapshot[:SHOWN]} of {record.taken_at:%Y-%m-%d %H:%M:%S} UTC"
        " is not in the repository any more, and Leitstand did not remove it"
    )


def _ids(records: list[Record]) -> tuple[str, ...]:
    return tuple(record.snapshot for record in records)
