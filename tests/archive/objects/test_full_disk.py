"""A disk without room is said to be one, and no snapshot and no repository to be damaged."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from leitstand.archive import CheckRequest, ObjectRestore, check_objects, restore_objects
from leitstand.archive.hindrance import HindranceError, UnwritableError
from leitstand.archive.objects.call_notes import CallNotes
from leitstand.archive.objects.restic_errors import RepositoryUnwritableError, ResticError
from leitstand.archive.objects.unpacking import SnapshotDamagedError
from leitstand.errors import FailureClass
from leitstand.store.account import server_account
from tests.archive.objects.conftest import Scene
from tests.archive.objects.quick_repository import PASSWORD
from tests.archive.objects.test_object_restore import described
from tests.conftest import make_short_dir
from tests.privileges import owning_nothing
from tests.small_disk import full_for, on_small_disk

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("ordinary", [False, True])
def test_a_target_without_room(scene: Scene, *, ordinary: bool) -> None:
    """Case 43: with the disk's name; nothing is left on it."""
    account = server_account()
    place = make_short_dir()
    try:
        (place / "disk").mkdir()
        account.own_tree(place)
        account.own_tree(scene.directory)
        facts = (str(scene.directory), PASSWORD, str(place))
        argv = [sys.executable, "-m", "tests.archive.objects.restore_process", *facts]
        done = subprocess.run(
            on_small_disk(
                owning_nothing(argv, account) if ordinary else argv, place / "disk", "128k"
            ),
            cwd=ROOT,
            input="newest disk/target\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        (line,) = (place / "restore.jsonl").read_text().splitlines()
    finally:
        shutil.rmtree(place)
    disk = place / "disk"
    problem = f"{disk} cannot be written: no space left on device"
    assert json.loads(line)["result"] == f"failed: the restore to {disk}/target failed: {problem}"
    assert "SnapshotDamagedError" not in done.stderr
    assert done.stdout.splitlines()[1:] == [""]  # the process has failed, and the disk is empty


async def test_a_target_whose_paths_get_too_long(scene: Scene) -> None:
    """It is the place that cannot have it: elsewhere the snapshot comes back."""
    source = scene.place / "source"
    (source / ("d" * 240)).mkdir(parents=True)
    await scene.back_up(source)
    deep = scene.place.joinpath(*["x" * 200] * 19)
    deep.mkdir(parents=True)
    order = ObjectRestore("newest", deep / "target", scene.place / "restore.jsonl")
    with pytest.raises(UnwritableError, match="file name too long"):
        await restore_objects(order, scene.archive.repository)
    assert list(deep.iterdir()) == []
    elsewhere = replace(order, target=scene.place / "target")
    await restore_objects(elsewhere, scene.archive.repository)
    assert described(elsewhere.target) == described(source)


@pytest.fixture
def crowded(scene: Scene) -> Scene:
    """The repository on a disk on which nobody can make a lock any more."""
    program = full_for("restic", scene.directory / "locks", scene.place / "crowded")
    return scene.having(program=str(program))


async def test_a_check_that_finds_no_room_finds_no_damage(crowded: Scene) -> None:
    """It is not on record either: nothing was looked at."""
    with pytest.raises(RepositoryUnwritableError, match="no space left on device") as caught:
        await check_objects(crowded.archive, CheckRequest())
    assert caught.value.failure_class is FailureClass.TRANSIENT
    assert str(crowded.directory) in caught.value.message
    repository = await crowded.archive.ledger.repository_at(crowded.archive.repository.shown)
    assert repository is not None
    assert await crowded.archive.ledger.checks(repository) == []


async def test_a_backup_that_finds_no_room_says_so(crowded: Scene) -> None:
    with pytest.raises(RepositoryUnwritableError, match="no space left on device"):
        await crowded.back_up()


async def test_a_full_repository_gives_back_what_is_in_it(crowded: Scene) -> None:
    """Backup disks are full on just the day on which somebody needs them."""
    place = crowded.place
    order = ObjectRestore("newest", place / "target", place / "restore.jsonl")
    await restore_objects(order, crowded.archive.repository)
    assert described(place / "target") == described(crowded.tree)


async def test_damage_is_still_damage(crowded: Scene) -> None:
    crowded.damage()
    order = ObjectRestore("newest", crowded.place / "target", crowded.place / "restore.jsonl")
    with pytest.raises(SnapshotDamagedError):
        await restore_objects(order, crowded.archive.repository)


async def test_a_call_that_cannot_be_noted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as with a full data directory: it says nothing about the repository."""
    monkeypatch.setattr(CallNotes, "new", lambda _: scene.place / "absent" / "note")
    with pytest.raises(UnwritableError, match="cannot be written") as caught:
        await check_objects(scene.archive, CheckRequest())
    assert caught.value.code == ResticError.code
    assert isinstance(caught.value, HindranceError)
