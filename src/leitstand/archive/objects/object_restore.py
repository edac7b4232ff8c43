"""Restores a snapshot: into a fresh directory, which takes the target's place when it is done."""

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from leitstand.archive.atomic import take_over_all
from leitstand.archive.fresh_directory import fresh_directory
from leitstand.archive.objects.object_repository import ObjectRepository
from leitstand.archive.objects.restic import Restic
from leitstand.archive.objects.restic_errors import RepositoryAbsentError
from leitstand.archive.objects.snapshot import Snapshot, chosen, snapshots_in
from leitstand.archive.objects.stale_locks import remove_own_locks
from leitstand.archive.objects.unpacking import Report, Unpacked, unpack
from leitstand.archive.postgres.durable import sync_file_system
from leitstand.archive.restore_call import restore_call
from leitstand.archive.restore_target import checked_target
from leitstand.execution import Interruptions

KIND = "objects"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ObjectRestore:
    """What to restore and where to; ``snapshot`` is an id, the beginning of one, or ``newest``.

    ``force`` replaces a target that is not empty. ``protected`` are directories that no restore may
    replace; the repository, Leitstand's data and the working directory are always among them.
    """

    snapshot: str
    target: Path
    log: Path
    force: bool = False
    protected: tuple[Path, ...] = ()


@dataclass(frozen=True)
class RestoredObjects:
    """A restore that is done; ``phases`` in seconds."""

    snapshot: Snapshot
    target: Path
    unpacked: Unpacked
    phases: dict[str, float]

    @property
    def taken_at(self) -> datetime:
        """As what it was, the target is now."""
        return self.snapshot.taken_at

    def as_dict(self) -> dict[str, Any]:
        """The restore's JSON shape."""
        count, unpacked = self.unpacked.found, self.unpacked
        return {
            "source": self.snapshot.id,
            "target": str(self.target),
            "taken_at": self.taken_at.isoformat(),
            "partial": self.snapshot.is_partial,
            "files": count.files,
            "bytes": count.bytes,
            "directories": count.directories,
            "owners_lost": unpacked.owners_lost,
            "owners": unpacked.snapshot.owners_as_dict(),
            "phases": self.phases,
        }


async def restore_objects(
    restore: ObjectRestore,
    repository: ObjectRepository,
    report: Report = lambda percent, message: None,
) -> RestoredObjects:
    """Restore, and write one line to the restore log however it ends.

    The target is refused (TargetRefusedError) before anything is run; on any failure and
    interruption it is byte for byte as it was, and nothing is left beside it. Needs no database:
    what is left after a disaster is the repository and its password. Raises what ``chosen`` and
    ``unpack`` raise, RestoreError, RestoreLogError.
    """
    with restore_call(restore.log, KIND, restore.snapshot, restore.target) as interruptions:
        return await _restore(restore, repository, report, interruptions)


async def _restore(
    restore: ObjectRestore,
    repository: ObjectRepository,
    report: Report,
    interruptions: Interruptions,
) -> RestoredObjects:
    protected = (*_protected(repository), *restore.protected)
    target = checked_target(restore.target, force=restore.force, protected=protected)
    restic, began = Restic(repository), time.monotonic()
    snapshot = await _find(restic, restore.snapshot)
    with fresh_directory(target) as beside:
        room = beside / "tree"
        room.mkdir()
        unpacked = await unpack(restic, snapshot, room, report)
        restored = time.monotonic()
        report(None, "sync")
        await asyncio.to_thread(sync_file_system, beside)
        interruptions.no_return()
        take_over_all([(unpacked.content, target)], replace=restore.force)
    phases = {"restore": restored - began, "sync": time.monotonic() - restored}
    log.info("objects restored", snapshot=snapshot.id, target=str(target))
    rounded = {name: round(value, 3) for name, value in phases.items()}
    return RestoredObjects(snapshot, target, unpacked, rounded)


async def _find(restic: Restic, choice: str) -> Snapshot:
    _refuse_absent(restic.repository)
    await restic.version()
    await remove_own_locks(restic)
    return chosen(await snapshots_in(restic), choice)


def _refuse_absent(repository: ObjectRepository) -> None:
    if repository.directory is not None and not (repository.directory / "config").exists():
        raise RepositoryAbsentError(
            f"there is no repository at {repository.shown}",
            remedy="Mount the disk that it is on, or correct backup.objects.repository.",
        )


def _protected(repository: ObjectRepository) -> tuple[Path, ...]:
    own = (repository.home.absolute(), Path.cwd())
    return own if repository.directory is None else (repository.directory, *own)
