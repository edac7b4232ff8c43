"""Rotation with the real restic: what goes, what stays, and locks that were left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leitstand.archive import SnapshotState, open_repository, rotate_objects
from leitstand.archive.objects import listing
from leitstand.archive.objects.restic import Restic
from leitstand.archive.objects.restic_errors import RepositoryLockedError
from leitstand.archive.objects.snapshot import Snapshot
from tests.archive.objects.conftest import Scene
from tests.archive.objects.quick_repository import PASSWORD
from tests.execution.processes import until

ROOT = Path(__file__).parents[3]

SLOWLY = """#!/bin/sh
case "$1" in
    backup) exec restic --limit-upload 256 "$@" ;;
    *) exec restic "$@" ;;
esac
"""
"""Restic with a slow disk, so that it can be met at work."""


async def test_old_ones_go_and_their_data_with_them(scene: Scene) -> None:
    """Different directories, one policy; the newest complete one is never a partial one."""
    other = scene.place / "other"
    other.mkdir()
    (other / "random").write_bytes(os.urandom(200_000))
    await scene.back_up(other)
    newest = await scene.back_up()
    partial = await scene.back_up(scene.tree, scene.place / "unmounted")
    plan = await rotate_objects(scene.archive, 1, dry_run=True)
    assert len(await scene.snapshots()) == 4
    done = await rotate_objects(scene.archive, 1)
    assert done.decisions == plan.decisions
    assert len(done.removed) == 2
    assert done.freed is not None
    assert done.freed > 190_000
    left = [(each.id, each.state) for each in await scene.snapshots()]
    assert left == [
        (newest.snapshot.id, SnapshotState.COMPLETE),
        (partial.snapshot.id, SnapshotState.PARTIAL),
    ]
    assert (await rotate_objects(scene.archive, 1)).removed == ()


def working(scene: Scene) -> "subprocess.Popen[bytes]":
    """A process that takes a backup, once restic has its lock."""
    program = scene.place / "slowly"
    program.write_text(SLOWLY)
    program.chmod(0o755)
    source = scene.place / "much"
    source.mkdir()
    (source / "random").write_bytes(os.urandom(8_000_000))
    repository = scene.archive.repository
    argv = [sys.executable, "-m", "tests.archive.objects.backup_process"]
    facts = (repository.location, repository.home, program, scene.database.conninfo, source)
    process = subprocess.Popen([*argv, *map(str, facts)], cwd=ROOT)
    until(lambda: locks(scene), 30)
    return process


def locks(scene: Scene) -> list[str]:
    """The locks, less those that are being written, which have a longer name."""
    names = (path.name for path in (scene.directory / "locks").iterdir())
    return [name for name in names if len(name) == 64]


def of(scene: Scene) -> list[int]:
    """Processes of restic that work on the scene's repository."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if f"RESTIC_REPOSITORY={scene.directory}\0".encode() in environment:
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_backup_that_is_ended_leaves_nothing_in_the_way(
    scene: Scene, how: signal.Signals
) -> None:
    """Cases 48 and 51: no process, no snapshot, and its lock is known as ours."""
    await scene.snapshots()
    with working(scene) as process:
        process.send_signal(how)
    until(lambda: not of(scene))
    assert len(await scene.snapshots()) == 1
    done = await rotate_objects(scene.archive, 1)
    assert done.removed == ()
    assert locks(scene) == []
    assert not Restic(scene.archive.repository).notes.abandoned()


async def test_what_is_removed_while_somebody_lists_is_not_missing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger was read before the rotation, the repository after it."""
    (snapshot,) = await scene.snapshots()

    async def rotated(restic: Restic) -> list[Snapshot]:
        await scene.archive.ledger.removed(opened.id, [snapshot.id])
        return []

    opened = await open_repository(scene.archive.repository, scene.archive.ledger)
    monkeypatch.setattr(listing, "snapshots_in", rotated)
    assert await listing.listed_in(opened, scene.archive) == []


async def test_the_lock_of_somebody_else_stays(scene: Scene) -> None:
    """Another restic that was killed on this machine: ours to report, not ours to judge."""
    await scene.snapshots()
    source = scene.place / "much"
    source.mkdir()
    (source / "random").write_bytes(os.urandom(8_000_000))
    environment = {**os.environ, "RESTIC_PASSWORD": PASSWORD}
    command = ["restic", "-r", str(scene.directory), "--no-cache", "--limit-upload", "256"]
    with subprocess.Popen(
        [*command, "backup", str(source)], env=environment, stdout=subprocess.DEVNULL
    ) as other:
        until(lambda: locks(scene), 30)
        other.kill()
    before = locks(scene)
    with pytest.raises(RepositoryLockedError) as caught:
        await rotate_objects(scene.archive, 1)
    assert f"PID {other.pid}" in str(caught.value.detail)
    assert locks(scene) == before
    made = await scene.back_up()  # a backup shares its lock
    assert not made.is_partial
