"""Removes the snapshots that retention gives up, and the data that no other one uses."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import structlog

from leitstand.archive.objects.listing import listed_in
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_ledger import ObjectLedger
from leitstand.archive.objects.opening import OpenRepository, open_repository
from leitstand.archive.objects.snapshot_retention import SnapshotDecision, plan_rotation

AT_ONCE = 200
"""Snapshots in one call of restic: a command line has its limits."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ObjectRotation:
    """What a rotation decided and did; ``freed`` bytes, None in a repository elsewhere."""

    repository: str
    decisions: tuple[SnapshotDecision, ...]
    dry_run: bool
    freed: int | None = None

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids that went, or with ``dry_run`` would go."""
        return tuple(decision.id for decision in self.decisions if not decision.keep)

    def as_dict(self) -> dict[str, Any]:
        """The rotation's JSON shape."""
        return {
            "repository": self.repository,
            "dry_run": self.dry_run,
            "decisions": [decision.as_dict() for decision in self.decisions],
            "removed": [] if self.dry_run else list(self.removed),
            "freed": self.freed,
        }


async def rotate_objects(
    archive: ObjectArchive,
    keep: int | None = None,
    *,
    dry_run: bool = False,
    report: Callable[[str], None] = lambda phase: None,
) -> ObjectRotation:
    """Keep the newest ``keep`` complete snapshots (None: as configured); ``dry_run`` only decides.

    Unused data is removed also when no snapshot is: an earlier rotation may have been cut off.
    Raises what ``plan_rotation`` and ``open_repository`` raise, RepositoryLockedError while another
    restic works.
    """
    opened = await open_repository(archive.repository, archive.ledger)
    wanted = archive.repository.keep if keep is None else keep
    decisions = plan_rotation(await listed_in(opened, archive), wanted, datetime.now(UTC))
    done = ObjectRotation(opened.id, decisions, dry_run)
    if dry_run:
        return done
    before = size_of(opened.directory)
    report("forget")
    await _forget(opened, archive.ledger, done)
    report("prune")
    await opened.restic.succeed("prune")
    after = size_of(opened.directory)
    freed = None if before is None or after is None else max(0, before - after)
    return replace(done, freed=freed)


async def _forget(opened: OpenRepository, ledger: ObjectLedger, done: ObjectRotation) -> None:
    """Each by its id: restic is not asked for an opinion.

    Noted before it is done: if we die between the two, a snapshot that is still there is found
    again by its being there, while one that is gone without a note would be an alarm.
    """
    reasons = {decision.id: decision.reasons for decision in done.decisions}
    waiting = iter(done.removed)
    while batch := list(islice(waiting, AT_ONCE)):
        for each in batch:
            log.info("snapshot removed", snapshot=each, reasons=reasons[each])
        await ledger.removed(opened.id, batch)
        await opened.restic.succeed("forget", *batch)


def size_of(directory: Path | None) -> int | None:
    """Bytes of all files in the repository; None where it is not on this machine."""
    if directory is None:
        return None
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:  # removed meanwhile
                continue
    return total
