"""Drills of objects compare what came back with the checksums in the application's database."""

import hashlib
from pathlib import Path

import psycopg
import pytest

from leitstand.archive import Drill, IntegritySettings, ObjectDrill, RevisionSample, drill_objects
from tests.archive.objects.conftest import STRANGE_NAME, Scene

FILES = (b"one", b"same", b"closed/inner", STRANGE_NAME)


def settings(scene: Scene) -> IntegritySettings:
    return IntegritySettings(str(scene.tree), "file_revisions", scene.place)


async def drill(scene: Scene, store: Path | None = None) -> Drill:
    samples = RevisionSample(settings(scene), scene.database.conninfo)
    wanted = ObjectDrill(scene.place / "drills", 120, None, samples, store or scene.tree)
    return await drill_objects(wanted, scene.archive)


@pytest.fixture
def rows(scene: Scene) -> psycopg.Connection:
    """The application's rows, all of them right, beside one without a checksum."""
    connection = psycopg.connect(scene.database.conninfo, autocommit=True)
    connection.execute(
        "CREATE TABLE file_revisions (id serial, document_id int, storage_key bytea,"
        " checksum_sha256 text)"
    )
    with connection.cursor() as cursor:
        statement = "INSERT INTO file_revisions (storage_key, checksum_sha256) VALUES (%s, %s)"
        cursor.execute(statement, (b"empty", None))
        for key in FILES:
            content = (Path(scene.tree) / Path(str(key, "utf-8", "surrogateescape"))).read_bytes()
            cursor.execute(statement, (key, hashlib.sha256(content).hexdigest()))
    return connection


async def test_a_sample_agrees(scene: Scene, rows: psycopg.Connection) -> None:
    with rows:
        result = await drill(scene)
    assert result.success, result.detail
    assert "4 of 4 objects of the database are there and the same" in result.detail
    assert result.phases["compare"] >= 0


async def test_a_wrong_checksum_fails_the_drill(scene: Scene, rows: psycopg.Connection) -> None:
    with rows:
        rows.execute("UPDATE file_revisions SET checksum_sha256 = repeat('0', 64) WHERE id = 4")
        result = await drill(scene)
    assert not result.success
    assert result.detail == "1 of 4 objects differ: closed/inner"


async def test_the_store_is_found_in_the_snapshot(scene: Scene, rows: psycopg.Connection) -> None:
    """Below a source, as one of several, and not at all."""
    with rows:
        outside = await drill(scene, scene.place)
        assert outside.success
        assert f"not compared: the snapshot does not hold {scene.place}" in outside.detail
        other = scene.place / "other"
        other.mkdir()
        (other / "file").touch()
        await scene.back_up(scene.tree, other)
        assert "4 of 4 objects" in (await drill(scene)).detail
        await scene.back_up(scene.tree.parent)
        assert "4 of 4 objects" in (await drill(scene)).detail


async def test_every_row_is_as_likely(scene: Scene, rows: psycopg.Connection) -> None:
    samples = RevisionSample(settings(scene), scene.database.conninfo)
    with rows:
        drawn = [each.storage_key for _ in range(60) for each in await samples.sample(1)]
    assert len(set(drawn)) == len(FILES)
