"""Restores: everything comes back, or the target stays as it was."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leitstand.archive import ObjectRestore, RestoredObjects, restore_objects
from leitstand.archive.objects.restic_errors import RepositoryAbsentError
from leitstand.archive.objects.unpacking import SnapshotDamagedError
from leitstand.archive.restore_target import TargetRefusedError
from leitstand.errors import NotFoundError
from leitstand.store.account import server_account
from tests.archive.objects.conftest import STRANGE_NAME, Scene
from tests.archive.objects.quick_repository import PASSWORD
from tests.archive.objects.test_object_rotation import of
from tests.conftest import make_short_dir
from tests.execution.processes import until
from tests.forking import forker
from tests.privileges import owning_nothing

ROOT = Path(__file__).parents[3]

Order = Callable[..., ObjectRestore]


@pytest.fixture
def order(scene: Scene) -> Order:
    """A restore of the newest snapshot to ``target``, with changes."""

    def make(**changes: Any) -> ObjectRestore:
        log = scene.place / "restore.jsonl"
        given: dict[str, Any] = {"snapshot": "newest", "target": scene.place / "target", "log": log}
        return ObjectRestore(**(given | changes))

    return make


async def restore(scene: Scene, order: ObjectRestore) -> RestoredObjects:
    return await restore_objects(order, scene.archive.repository)


def described(top: Path) -> dict[bytes, tuple[int, int, int, bytes]]:
    """Mode, owner and content of everything, by name."""
    found = {}
    for path in (top, *top.rglob("*")):
        status = path.lstat()
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else content
        name = os.fsencode(path.relative_to(top))
        found[name] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


def last_result(log: Path) -> str:
    return str(json.loads(log.read_text().splitlines()[-1])["result"])


def beside(scene: Scene) -> list[str]:
    return [path.name for path in scene.place.iterdir() if path.name.startswith(".")]


def occupied(target: Path) -> Path:
    target.mkdir()
    (target / "old").write_text("old")
    return target


async def test_everything_comes_back(scene: Scene, order: Order) -> None:
    """Case 60: as root with the owners, which are nobody here; the top directory's mode, too."""
    restored = await restore(scene, order())
    assert described(restored.target) == described(scene.tree)
    assert restored.unpacked.owners_lost == 0
    assert restored.unpacked.found.files == 4
    assert last_result(order().log) == "ok"
    assert beside(scene) == []


async def test_several_directories_come_back_under_their_paths(scene: Scene, order: Order) -> None:
    other = scene.place / "other"
    other.mkdir()
    (other / "file").write_text("x")
    made = await scene.back_up(scene.tree, other)
    restored = await restore(scene, order(snapshot=made.snapshot.id[:10]))
    for source in (scene.tree, other):
        assert described(restored.target / source.relative_to("/")) == described(source)


async def test_a_directory_whose_name_is_no_text(scene: Scene, order: Order) -> None:
    source = scene.place / os.fsdecode(STRANGE_NAME)
    source.mkdir()
    (source / "file").write_text("x")
    await scene.back_up(source)
    restored = await restore(scene, order())
    assert described(restored.target) == described(source)


def test_a_restore_that_is_asked_to_end_says_so(scene: Scene, order: Order) -> None:
    """One line in the log, nothing left beside, and restic has ended, too."""
    program = scene.place / "slowly"
    program.write_text('#!/bin/sh\nexec restic --limit-download 32 "$@"\n')
    program.chmod(0o755)
    target = occupied(order().target)
    facts = (str(scene.directory), PASSWORD, str(scene.place), str(program))
    with forker("tests.archive.objects.restore_process", *facts) as restores:
        pid = restores.start("newest")
        until(lambda: any(scene.place.glob(".target*/tree/tree")), 60)
        os.kill(pid, signal.SIGTERM)
        restores.end()
    assert described(target).keys() == {b".", b"old"}
    assert beside(scene) == []
    assert of(scene) == []
    assert len(order().log.read_text().splitlines()) == 1
    assert last_result(order().log).startswith("aborted: ")


async def test_force_replaces_what_is_there(scene: Scene, order: Order) -> None:
    target = occupied(order().target)
    await restore(scene, order(force=True))
    assert described(target) == described(scene.tree)
    assert beside(scene) == []


async def test_a_target_is_refused_before_anything_runs(scene: Scene, order: Order) -> None:
    """Cases 57 and 59; without a program there is nothing that could run."""
    without = scene.having(program="/nowhere/restic")
    target = occupied(order().target)
    with pytest.raises(TargetRefusedError, match="not empty"):
        await restore(without, order())
    home = scene.archive.repository.home
    home.mkdir()
    for place in (Path("/"), Path.home(), scene.place, home, scene.directory, Path("/dev/shm")):
        with pytest.raises(TargetRefusedError):
            await restore(without, order(target=place, force=True))
    assert described(target).keys() == {b".", b"old"}
    lines = order().log.read_text().splitlines()
    assert len(lines) == 7
    assert all(json.loads(line)["result"].startswith("aborted: ") for line in lines)


async def damaged(scene: Scene) -> None:
    scene.damage()


async def bereft(scene: Scene) -> None:
    scene.biggest_pack().unlink()


@pytest.mark.parametrize("harm", [damaged, bereft])
async def test_damage_leaves_the_target_as_it_was(
    scene: Scene, order: Order, harm: Callable[[Scene], Any]
) -> None:
    """Case 46: a damaged pack makes a file of full size with a hole, a missing one takes long."""
    await harm(scene)
    target = occupied(order().target)
    before = described(target)
    with pytest.raises(SnapshotDamagedError) as caught:
        await restore(scene, order(force=True))
    assert caught.value.detail
    assert described(target) == before
    assert last_result(order().log).startswith("failed: ")
    assert beside(scene) == []


async def test_what_does_not_exist(scene: Scene, order: Order) -> None:
    for name in ("0123456789", "", "newes"):
        with pytest.raises(NotFoundError):
            await restore(scene, order(snapshot=name))
        assert last_result(order().log).startswith("aborted: ")
    elsewhere = scene.having(location=str(scene.place / "unmounted"))
    with pytest.raises(RepositoryAbsentError):
        await restore(elsewhere, order())
    assert not order().target.exists()


def test_an_ordinary_user_is_told_of_lost_owners(scene: Scene) -> None:
    """Case 60: only root can give files away."""
    account = server_account()
    place = make_short_dir()
    try:
        account.own(place)
        account.own_tree(scene.directory)
        argv = [sys.executable, "-m", "tests.archive.objects.restore_process"]
        facts = (str(scene.directory), PASSWORD, str(place))
        done = subprocess.run(
            owning_nothing([*argv, *facts], account),
            cwd=ROOT,
            input="newest\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        restored = json.loads(done.stdout.splitlines()[1])
        mine = described(place / "target")
    finally:
        shutil.rmtree(place)
    theirs = described(scene.tree)
    foreign = [name for name in theirs if theirs[name][1] != account.uid]
    assert restored["owners_lost"] == len(foreign)
    assert {name: entry[::3] for name, entry in mine.items()} == {
        name: entry[::3] for name, entry in theirs.items()
    }
