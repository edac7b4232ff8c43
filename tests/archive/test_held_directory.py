"""Temporary directories go with their makers, also with killed ones, and never before."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from leitstand.archive.fresh_directory import fresh_directory
from leitstand.archive.held_directory import abandoned, held_directory, sweep

PREFIX = "room-"
MAKER = """
import sys
from pathlib import Path

import pytest
from leitstand.archive.held_directory import held_directory

with held_directory(Path(sys.argv[1]), "room-") as room:
    (room / "file").touch()
    print(room, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", MAKER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, text=True, **pipes) as maker:  # type: ignore[call-overload]
        room = Path(maker.stdout.readline().strip())
        sweep(tmp_path, PREFIX)
        assert (room / "file").exists()
        maker.kill()
    assert room.exists()
    sweep(tmp_path, PREFIX)
    assert not room.exists()


def test_what_is_called_otherwise_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "room-file").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "room-notes-of-mine").mkdir()
    (tmp_path / "room-link").symlink_to(tmp_path / "elsewhere")
    sweep(tmp_path, PREFIX)
    assert {path.name for path in tmp_path.iterdir()} == {
        "mine",
        "room-file",
        "room-link",
        "elsewhere",
        "room-notes-of-mine",
    }


def test_it_goes_at_the_end(tmp_path: Path) -> None:
    with held_directory(tmp_path, PREFIX) as room:
        (room / "file").touch()
        with abandoned(room) as free:
            assert not free
    assert list(tmp_path.iterdir()) == []


def test_nobody_sweeps_what_was_made_a_moment_ago(tmp_path: Path) -> None:
    done = threading.Event()

    def go_on_sweeping() -> None:
        while not done.is_set():
            sweep(tmp_path, PREFIX)

    sweeper = threading.Thread(target=go_on_sweeping)
    sweeper.start()
    try:
        for _ in range(200):
            with held_directory(tmp_path, PREFIX) as room:
                (room / "file").touch()
    finally:
        done.set()
        sweeper.join()


@pytest.mark.parametrize("name", [b"x" * 255, "日".encode() * 85, b"\xff" * 255], ids=len)
def test_a_target_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    """The temporary directory's name holds a part of it, in the 255 bytes that there are."""
    with fresh_directory(tmp_path / os.fsdecode(name)) as room:
        assert room.is_dir()
    assert list(tmp_path.iterdir()) == []
