"""Restored rows against restored objects: two backups that belong together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
import pytest

from leitstand.archive import (
    ArchiveSettings,
    Drill,
    DrillSettings,
    IntegritySettings,
    JointDrill,
    ObjectDrill,
    Policy,
    drill_together,
    take_full,
)
from leitstand.archive.objects.joint_drill import stage_before
from leitstand.archive.objects.object_drill import DrillFailure
from leitstand.archive.objects.snapshot import Snapshot
from leitstand.store.account import server_account
from tests.archive.objects.conftest import Scene
from tests.archive_scene import DATABASE, Archive


@dataclass(frozen=True)
class Pair:
    """An application whose rows and objects are both backed up."""

    archive: Archive
    objects: Scene

    async def drill(self, snapshot: str | None = None) -> Drill:
        place = self.archive.directory.parent
        settings = ArchiveSettings(
            self.archive.directory, place / "log", 1, Policy(), DrillSettings(place / "drills")
        )
        scratch = settings.drill_scratch(server_account())
        rows = IntegritySettings(str(self.objects.tree), "file_revisions", place)
        wanted = ObjectDrill(scratch, 120, snapshot, store=self.objects.tree)
        return await drill_together(
            JointDrill(settings, self.objects.archive, wanted, rows, DATABASE)
        )

    def add_row(self, key: str) -> None:
        self.execute("INSERT INTO file_revisions (storage_key) VALUES (%s)", key)

    def execute(self, statement: str, *values: str) -> None:
        """A statement of the application."""
        conninfo = self.archive.server.conninfo(DATABASE)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute(statement.encode(), values)


@pytest.fixture
def pair(archive: Archive, scene: Scene) -> Iterator[Pair]:
    pair = Pair(archive, scene)
    pair.execute(
        "CREATE TABLE file_revisions (id serial, document_id int, storage_key text,"
        " checksum_sha256 text)"
    )
    for key in ("one", "closed/inner"):
        pair.add_row(key)
    yield pair
    pair.execute("DROP TABLE file_revisions")


async def test_restored_rows_find_their_objects(pair: Pair) -> None:
    """What was added after the backup is in no restored row, and is no fault."""
    taken = take_full(pair.archive.repository)
    pair.add_row("later")
    made = await pair.objects.back_up()
    drill = await pair.drill()
    assert drill.success, drill.detail
    assert f"2 objects of restored rows are in the snapshot {made.snapshot.id[:8]}" in drill.detail
    assert drill.source.startswith(taken.generation)
    assert "reconcile" in drill.phases


async def test_the_parts_of_a_backup_are_judged_as_one(pair: Pair) -> None:
    """Case 31: the database came back, an object did not; the generation is not proven by that."""
    pair.add_row("lost")
    take_full(pair.archive.repository)
    await pair.objects.back_up()
    drill = await pair.drill()
    assert not drill.success
    assert "1 objects that restored rows name are not in the snapshot" in drill.detail
    assert "missing: lost of document" in drill.detail
    newest = pair.archive.newest
    assert newest.drilled_at is None
    assert newest.stages[0].tried_at is not None


def test_a_snapshot_that_is_older_than_every_backup(archive: Archive) -> None:
    old = Snapshot("8cd8c2df", datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(DrillFailure, match="no backup of the database is older than the snapshot"):
        stage_before(archive.generations, old)
    now = Snapshot("8cd8c2df", datetime.now(UTC))
    newest = archive.newest
    assert stage_before(archive.generations, now) == (newest.id, newest.stages[-1].path.name)
