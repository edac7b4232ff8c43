"""File locks: exclusive, shared, given up after a deadline, released by death."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leitstand.store.file_lock import FileLock, LockedError, LockFileError


def test_only_one_holds_it(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"), pytest.raises(LockedError, match="lock"):
        FileLock(tmp_path / "lock", deadline=0.05).__enter__()
    with FileLock(tmp_path / "lock", deadline=0):
        pass


def test_many_share_it_and_one_can_be_the_last(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    first.share()
    second.share()
    assert not first.held_by_nobody_else()
    second.release()
    second.release()
    assert first.held_by_nobody_else()
    assert not second.held_by_nobody_else()
    first.release()


def test_the_kernel_releases_what_a_killed_process_held(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from leitstand.store.file_lock import FileLock\n"
        "with FileLock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(LockedError):
        FileLock(tmp_path / "lock", deadline=0).__enter__()
    holder.kill()
    holder.communicate()
    with FileLock(tmp_path / "lock", deadline=0):
        pass


def test_children_do_not_inherit_it(tmp_path: Path) -> None:
    """A server that outlived its Leitstand would look like a user for ever."""
    with FileLock(tmp_path / "lock"):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with FileLock(tmp_path / "lock", deadline=0):
            pass
    finally:
        child.kill()
        child.wait()


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LockFileError, match="symbolic links"):
        FileLock(tmp_path / "lock").__enter__()
    assert not os.path.lexists(tmp_path / "elsewhere")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A read-only file system, another user's directory, a disk without room."""
    with pytest.raises(LockFileError, match="nowhere/lock cannot be opened for writing"):
        FileLock(tmp_path / "nowhere" / "lock").__enter__()
