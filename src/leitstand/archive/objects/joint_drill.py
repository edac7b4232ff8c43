"""Drills database and objects together: does each restored row find its object in the snapshot?

Either may come back by itself, and the two still not belong together. What is restored is the
newest pair that can belong together: the newest whole snapshot, and the newest backup of the
database that had ended when it was taken. Objects come before their rows, so each row of that
backup has its object in the snapshot, unless the document was deleted in between.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from leitstand.archive.drills.copy_check import CopyCheckError
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.isolated_server import IsolatedServer
from leitstand.archive.drills.newest_drill import drill_database
from leitstand.archive.drills.stopwatch import Say
from leitstand.archive.fresh_directory import fresh_directory
from leitstand.archive.hindrance import hindrance_in
from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.reconcile import ReconcileOptions, reconcile
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.settings import IntegritySettings
from leitstand.archive.objects.listing import whole_snapshots
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_drill import DrillFailure, ObjectDrill, place_of
from leitstand.archive.objects.opening import OpenRepository, open_repository
from leitstand.archive.objects.snapshot import SHOWN, Snapshot, chosen, snapshots_in
from leitstand.archive.objects.unpacking import unpack
from leitstand.archive.postgres.catalogue import Generation, GenerationState, list_generations
from leitstand.archive.settings import ArchiveSettings
from leitstand.errors import LeitstandError, NotFoundError

NAMED = 10
"""Missing objects that a drill's detail names."""


@dataclass(frozen=True)
class JointDrill:
    """What to drill; ``drill.store`` is where the objects were, ``database`` the rows' name."""

    archive: ArchiveSettings
    objects: ObjectArchive
    drill: ObjectDrill
    rows: IntegritySettings
    database: str


async def drill_together(joint: JointDrill, say: Say = lambda phase: None) -> Drill:
    """Restore both, reconcile the copies, and report as a drill of the database.

    It counts for the generation like any other drill: the parts of a backup are judged as one.
    Blocks the event loop; raises NotFoundError for a snapshot that was named and does not exist.
    """
    try:
        return await _drill(joint, say)
    except NotFoundError:
        raise
    except LeitstandError as error:
        detail = ": ".join(filter(None, (error.message, error.detail)))
        return Drill(
            datetime.now(UTC),
            DrillKind.DATABASE,
            "",
            success=False,
            detail=detail,
            hindrance=hindrance_in(error),
        )


async def _drill(joint: JointDrill, say: Say) -> Drill:
    opened = await open_repository(joint.objects.repository, joint.objects.ledger)
    snapshot = await _chosen(joint, opened)
    generations = await asyncio.to_thread(list_generations, joint.archive.directory)
    generation, stage = stage_before(generations, snapshot)
    scratch = joint.drill.scratch
    scratch.mkdir(parents=True, exist_ok=True)
    with fresh_directory(scratch / "objects") as beside:
        room = beside / "tree"
        room.mkdir()
        say("objects")
        unpacked = await unpack(opened.restic, snapshot, room, timeout=joint.drill.timeout)
        store = joint.drill.store
        place = None if store is None else place_of(store.resolve(), snapshot, unpacked.content)
        if place is None:
            raise DrillFailure(f"the snapshot {snapshot.id[:SHOWN]} does not hold {store}")
        check = RowsAndObjects(place, snapshot.id[:SHOWN], joint.rows, joint.database)
        return drill_database(joint.archive, generation, say, upto=stage, also=check)


async def _chosen(joint: JointDrill, opened: OpenRepository) -> Snapshot:
    if joint.drill.snapshot is not None:
        return chosen(await snapshots_in(opened.restic), joint.drill.snapshot)
    whole = await whole_snapshots(opened, joint.objects)
    if not whole:
        raise DrillFailure(f"no complete snapshot is in {opened.restic.repository.shown}")
    return whole[-1]


def stage_before(generations: Sequence[Generation], snapshot: Snapshot) -> tuple[str, str]:
    """The newest sound stage that had ended when ``snapshot`` was taken, and its generation.

    Raises DrillFailure where there is none.
    """
    ended = [
        (stage.record.finished_at, generation.id, stage.path.name)
        for generation in generations
        if generation.state is GenerationState.COMPLETE
        for stage in generation.stages
        if stage.record is not None and stage.record.finished_at <= snapshot.taken_at
    ]
    if not ended:
        raise DrillFailure(
            f"no backup of the database is older than the snapshot {snapshot.id[:SHOWN]}"
        )
    _, generation, stage = max(ended)
    return generation, stage


@dataclass(frozen=True)
class RowsAndObjects:
    """The check of a restored copy: its rows against the objects restored to ``place``."""

    place: Path
    snapshot: str
    rows: IntegritySettings = field(repr=False)
    database: str
    name: str = "reconcile"

    def __call__(self, server: IsolatedServer, limit: float) -> str:
        """What is to be said of it; raises CopyCheckError that names rows without an object."""
        conninfo = server.conninfo(server.ways_in.reader, self.database)
        with ThreadPoolExecutor(1) as pool:  # with a loop of its own: the caller's is blocked
            result = pool.submit(asyncio.run, self._reconciled(conninfo, limit)).result()
        if result.missing.count:
            raise CopyCheckError(
                f"{result.missing.count} objects that restored rows name are not in the snapshot"
                f" {self.snapshot}",
                detail="\n".join(result.first_findings(NAMED)),
            )
        return (
            f"{result.existing.count} objects of restored rows are in the snapshot {self.snapshot},"
            f" {result.orphaned.count} more in no row"
        )

    async def _reconciled(self, conninfo: str, limit: float) -> Reconciliation:
        options = ReconcileOptions(grace=0, limit=NAMED, existing=False)
        rows = replace(self.rows, database_url="")
        async with asyncio.timeout(limit), rows.open_table(conninfo) as table:
            return await reconcile(table, DirectoryStore(self.place), options)
