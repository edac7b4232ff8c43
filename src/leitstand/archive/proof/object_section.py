"""The section of the proof that speaks of snapshots of objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drills_in_turn import drill_document
from leitstand.archive.objects.listing import ListedSnapshot, SnapshotState, list_snapshots
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_ledger import RepositoryCheck
from leitstand.archive.objects.snapshot import SHOWN
from leitstand.archive.objects.snapshot_retention import TOLERANCE
from leitstand.archive.proof.report import ProofFinding, SectionReport
from leitstand.display import counted, moment

CHECK = "leitstand backup objects check --read-data"
DRILL = "leitstand drill run --kind objects"


@dataclass(frozen=True)
class SnapshotsSection:
    """What is in the repository of objects: which snapshots, read whole when, drilled when."""

    objects: ObjectArchive
    name: ClassVar[str] = "object_snapshots"
    title: ClassVar[str] = "Snapshots of objects"

    async def report(self, now: datetime) -> SectionReport:
        """Where no repository ever was, objects are not backed up here, and nothing is found."""
        ledger, repository = self.objects.ledger, self.objects.repository
        known = await ledger.repository_at(repository.shown)
        directory = repository.directory
        if known is None and (directory is None or not directory.exists()):
            nothing: dict[str, Any] = {"snapshots": [], "latest_check": None, "latest_drill": None}
            return SectionReport(self.name, self.title, nothing, summary="there is no repository")
        snapshots = await list_snapshots(self.objects)
        known = await ledger.repository_at(repository.shown)
        checks = [] if known is None else await ledger.checks(known)
        drills = await self.objects.drills.history(DrillKind.OBJECTS, 1)
        facts = {
            "snapshots": [snapshot.as_dict() for snapshot in snapshots],
            "latest_check": _check_document(checks[0]) if checks else None,
            "latest_drill": drill_document(drills[0]) if drills else None,
        }
        found = (*_about(snapshots, now), *_failed(checks, drills))
        return SectionReport(self.name, self.title, facts, found, _summary(snapshots))


async def recorded_snapshots(objects: ObjectArchive) -> SectionReport | None:
    """What the control database alone knows of snapshots, at once; None if it knows of none."""
    known = await objects.ledger.repository_at(objects.repository.shown)
    if known is None:
        return None
    records = [record for record in await objects.ledger.records(known) if record.complete]
    checks = await objects.ledger.checks(known)
    drills = await objects.drills.history(DrillKind.OBJECTS, 1)
    summary = counted(len(records), "complete snapshot")
    if records:
        summary += f", the newest of {moment(records[-1].taken_at)}"
    found = tuple(_failed(checks, drills))
    return SectionReport(SnapshotsSection.name, SnapshotsSection.title, {}, found, summary)


def _about(snapshots: Sequence[ListedSnapshot], now: datetime) -> Iterator[ProofFinding]:
    complete = [each for each in snapshots if each.counts]
    if not complete:
        remedy = "leitstand backup objects backup DIR"
        yield ProofFinding("snapshots", "there is no complete snapshot", remedy)
    elif not any(each.is_proven for each in complete):
        problem = "no complete snapshot was read whole or drilled since it was taken"
        yield ProofFinding("snapshots", problem, f"{CHECK}, or {DRILL}")
    for each in snapshots:
        if each.state is SnapshotState.MISSING:
            problem = "it is gone, and Leitstand did not remove it"
            yield ProofFinding(each.id[:SHOWN], problem, "leitstand backup objects check")
        elif each.taken_at > now + TOLERANCE:
            problem = f"it is dated in the future ({each.taken_at:%Y-%m-%d %H:%M} UTC)"
            yield ProofFinding(each.id[:SHOWN], problem, "Nothing is rotated until it is gone.")


def _failed(checks: Sequence[RepositoryCheck], drills: Sequence[Drill]) -> Iterator[ProofFinding]:
    """What the newest check and the newest drill found."""
    if checks and not checks[0].ok:
        for sentence in checks[0].findings:
            yield ProofFinding("last check", sentence, CHECK)
    if drills and not drills[0].success:
        problem = f"its last drill failed: {drills[0].detail}"
        yield ProofFinding(drills[0].source[:SHOWN] or "drill", problem, CHECK)


def _check_document(check: RepositoryCheck) -> dict[str, object]:
    fields = {"ok": check.ok, "slice": check.slice, "slices": check.slices}
    times = {"started_at": check.started_at.isoformat()}
    return {**times, **fields, "findings": list(check.findings)}


def _summary(snapshots: Sequence[ListedSnapshot]) -> str:
    complete = [each for each in snapshots if each.counts]
    verified = sum(each.verified_at is not None for each in complete)
    drilled = sum(each.drilled_at is not None for each in complete)
    return f"{counted(len(complete), 'snapshot')}, {verified} read whole, {drilled} drilled"
