"""Drills of objects: the newest snapshot really comes back, with content, and the right one."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from leitstand.archive import Drill, KnownObject, ObjectDrill, drill_objects
from leitstand.errors import NotFoundError
from tests.archive.objects.conftest import Scene


async def drill(scene: Scene, **changes: object) -> Drill:
    wanted = ObjectDrill(scene.place / "drills", timeout=120)
    return await drill_objects(replace(wanted, **changes), scene.archive)  # type: ignore[arg-type]


@dataclass
class Known:
    """What the application's database would say."""

    objects: Sequence[KnownObject]

    async def sample(self, size: int) -> Sequence[KnownObject]:
        """All of them."""
        return self.objects[:size]


def known(scene: Scene, *keys: str, digest: str | None = None) -> Known:
    files = {key: scene.tree / key for key in keys}
    return Known([KnownObject(key, digest or sha256(path)) for key, path in files.items()])


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()


async def test_the_newest_comes_back(scene: Scene) -> None:
    made = await scene.back_up()
    await scene.back_up(scene.tree, scene.place / "unmounted")  # partial: proves nothing
    result = await drill(scene, samples=known(scene, "one", "closed/inner", "newer"))
    assert result.success, result.detail
    assert result.source == made.snapshot.id
    assert "2 of 3 objects" in result.detail
    assert result.recovery_time == result.phases["restore"] > 0
    assert result.recovery_point_age is not None
    assert list((scene.place / "drills").iterdir()) == []


async def test_what_passed_is_on_the_snapshot(scene: Scene) -> None:
    (before,) = await scene.snapshots()
    await scene.archive.drills.record(await drill(scene))
    (after,) = await scene.snapshots()
    assert (before.drilled_at, before.is_proven) == (None, False)
    assert (after.drilled_at is not None, after.is_proven) == (True, True)


async def test_empty_after_restore(scene: Scene) -> None:
    source = scene.place / "source"
    (source / "directory").mkdir(parents=True)
    await scene.back_up(source)
    result = await drill(scene)
    assert not result.success
    assert result.detail.startswith("empty after restore")


async def test_no_backup(scene: Scene, bare: Scene) -> None:
    nowhere = bare.having(location=str(bare.place / "nowhere"))
    assert (await drill(nowhere)).detail.startswith("no backup found")
    for path in (scene.directory / "snapshots").iterdir():
        path.unlink()
    result = await drill(scene)
    assert (result.success, result.source) == (False, "")
    assert result.detail.startswith("no backup found in ")
    with pytest.raises(NotFoundError):
        await drill(scene, snapshot="12345678")


async def test_damage(scene: Scene) -> None:
    scene.damage()
    result = await drill(scene)
    assert not result.success
    assert "could not be restored whole" in result.detail
    assert result.recovery_time is None
    assert list((scene.place / "drills").iterdir()) == []


async def test_content_that_the_database_knows_otherwise(scene: Scene) -> None:
    """And keys that lead out of the snapshot are never looked at."""
    wrong = known(scene, "one", "same", digest="0" * 64)
    assert (await drill(scene, samples=wrong)).detail == "2 of 2 objects differ: one, same"
    absent = Known([KnownObject("../tree/one", "0" * 64), KnownObject("/etc/passwd", "0" * 64)])
    result = await drill(scene, samples=absent)
    assert result.detail == "none of 2 objects of the database is in the snapshot"
