"""All snapshots with what is known of each: the repository's list and the ledger's as one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from leitstand.archive.drills.drill import DrillKind
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_ledger import Record, RepositoryCheck
from leitstand.archive.objects.opening import OpenRepository, open_repository
from leitstand.archive.objects.read_slices import read_since
from leitstand.archive.objects.restic_errors import RepositoryAbsentError
from leitstand.archive.objects.snapshot import Snapshot, snapshots_in


class SnapshotState(StrEnum):
    """What a snapshot is worth; only complete ones count."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    """Something could not be read when it was taken."""
    UNRECORDED = "unrecorded"
    """Leitstand took it, but its end was never noted: nobody knows whether it is whole."""
    FOREIGN = "foreign"
    """Somebody else took it."""
    MISSING = "missing"
    """Leitstand took it, did not remove it, and it is gone."""


@dataclass(frozen=True)
class ListedSnapshot:
    """One snapshot; ``files`` and ``bytes`` are None where nobody counted them.

    ``verified_at`` is a time by which all data of the repository had been read since the snapshot
    was taken; ``drilled_at`` when it last passed a restore drill.
    """

    id: str
    state: SnapshotState
    taken_at: datetime
    paths: tuple[str, ...] = ()
    files: int | None = None
    bytes: int | None = None
    verified_at: datetime | None = None
    drilled_at: datetime | None = None
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it is one of those that retention is about."""
        return self.state is SnapshotState.COMPLETE

    @property
    def is_proven(self) -> bool:
        """Whether more is known of it than that it was written."""
        return self.counts and (self.verified_at is not None or self.drilled_at is not None)

    def as_dict(self) -> dict[str, Any]:
        """The snapshot's JSON shape."""
        times = {
            name: None if value is None else value.isoformat()
            for name, value in (
                ("taken_at", self.taken_at),
                ("verified_at", self.verified_at),
                ("drilled_at", self.drilled_at),
            )
        }
        return {
            "snapshot_id": self.id,
            "state": self.state.value,
            **times,
            "paths": list(self.paths),
            "files": self.files,
            "bytes": self.bytes,
            "problems": list(self.problems),
        }


@dataclass(frozen=True)
class Proofs:
    """What was done with a repository: its checks, newest first, and drills passed by snapshot."""

    checks: Sequence[RepositoryCheck] = ()
    drilled: Mapping[str, datetime] = field(default_factory=dict)


async def list_snapshots(archive: ObjectArchive) -> list[ListedSnapshot]:
    """All snapshots, the oldest first; none where no repository was ever made.

    Raises what ``open_repository`` raises.
    """
    try:
        opened = await open_repository(archive.repository, archive.ledger)
    except RepositoryAbsentError:
        if await archive.ledger.repository_at(archive.repository.shown) is not None:
            raise
        return []
    return await listed_in(opened, archive)


async def listed_in(opened: OpenRepository, archive: ObjectArchive) -> list[ListedSnapshot]:
    """All snapshots of an open repository, the oldest first, those that are missing among them."""
    proofs = Proofs(
        await archive.ledger.checks(opened.id), await archive.drills.passed(DrillKind.OBJECTS)
    )
    records = await archive.ledger.records(opened.id)
    found = await snapshots_in(opened.restic)
    listed = put_together(found, records, proofs)
    if all(each.state is not SnapshotState.MISSING for each in listed):
        return listed
    # A rotation that worked meanwhile has said beforehand what it removes.
    expected = {record.snapshot for record in await archive.ledger.records(opened.id)}
    return [
        each for each in listed if each.state is not SnapshotState.MISSING or each.id in expected
    ]


async def whole_snapshots(opened: OpenRepository, archive: ObjectArchive) -> list[Snapshot]:
    """Those that are complete by all that is known, the oldest first; see SnapshotState."""
    whole = {each.id for each in await listed_in(opened, archive) if each.counts}
    return [each for each in await snapshots_in(opened.restic) if each.id in whole]


def put_together(
    found: Iterable[Snapshot], records: Sequence[Record], proofs: Proofs
) -> list[ListedSnapshot]:
    """One list of both, the oldest first."""
    noted = {record.snapshot: record for record in records}
    present = {snapshot.id: snapshot for snapshot in found}
    listed = [_listed(each, noted.get(each.id), proofs) for each in present.values()]
    listed += [
        ListedSnapshot(record.snapshot, SnapshotState.MISSING, record.taken_at)
        for record in records
        if record.snapshot not in present
    ]
    return sorted(listed, key=lambda each: (each.taken_at, each.id))


def _listed(snapshot: Snapshot, record: Record | None, proofs: Proofs) -> ListedSnapshot:
    proven = read_since(proofs.checks)
    return ListedSnapshot(
        id=snapshot.id,
        state=_state(snapshot, record),
        taken_at=snapshot.taken_at,
        paths=snapshot.paths,
        files=record.files if record else None,
        bytes=record.bytes if record else None,
        verified_at=proven if proven is not None and proven >= snapshot.taken_at else None,
        drilled_at=proofs.drilled.get(snapshot.id),
        problems=record.problems if record else (),
    )


def _state(snapshot: Snapshot, record: Record | None) -> SnapshotState:
    if not snapshot.is_ours:
        return SnapshotState.FOREIGN
    if snapshot.is_partial or (record is not None and not record.complete):
        return SnapshotState.PARTIAL
    return SnapshotState.UNRECORDED if record is None else SnapshotState.COMPLETE
