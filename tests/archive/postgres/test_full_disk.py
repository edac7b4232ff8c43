"""What this machine cannot do is no fault of the backup: no room, or a program that is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from leitstand.archive.hindrance import HindranceError, KilledError
from leitstand.archive.postgres.stage_check import ScratchError
from leitstand.archive.postgres.verify import verify_generation
from leitstand.errors import FailureClass
from leitstand.store.account import server_account
from leitstand.store.binaries import Binaries
from tests.archive.postgres.backup_scene import Scene
from tests.archive.postgres.test_extract import file_size_limit
from tests.small_disk import on_small_disk

ROOT = Path(__file__).parents[3]


def test_a_target_without_room(scene: Scene, short_dir: Path) -> None:
    """Case 43: said with the place; only the restore log is left on the disk."""
    disk = short_dir / "disk"
    disk.mkdir()
    server_account().own(disk)
    module = "tests.archive.postgres.restore_process"
    argv = [sys.executable, "-m", module, str(scene.generation), str(disk)]
    done = subprocess.run(
        on_small_disk(argv, disk, "12m"),
        cwd=ROOT,
        input="newest here\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert f"UnwritableError: the restore to {disk}/target failed: {disk}/.target.restore-" in last
    assert last.endswith("cannot be written: no space left on device")
    assert done.stdout.splitlines()[1:] == ["", "restore.jsonl"]


def test_a_scratch_directory_without_room(scene: Scene, tmp_path: Path) -> None:
    """The WAL is laid out there to be read."""
    with file_size_limit(1 << 12), pytest.raises(ScratchError, match="File too large") as caught:
        verify_generation(scene.generation, scene.binaries, scratch=tmp_path)
    assert isinstance(caught.value, HindranceError)
    assert caught.value.failure_class is FailureClass.TRANSIENT
    assert str(caught.value.remedy).startswith("Make room there.")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_program_has_found_no_damage(scene: Scene, tmp_path: Path) -> None:
    """As when memory is short."""
    program = tmp_path / "pg_waldump"
    program.write_text("#!/bin/sh\nkill -KILL $$\n")
    program.chmod(0o755)
    with pytest.raises(KilledError, match="pg_waldump was killed"):
        verify_generation(scene.generation, Binaries(tmp_path))
