"""A drill's directory: closed to other users, gone at the end, and swept away after a kill -9.

It is locked while its maker lives (flock(2) on the directory itself), so the next drill knows which
ones were left by a process that was killed, and touches only those.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive.fresh_directory import is_abandoned
from leitstand.errors import LeitstandError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries
from leitstand.store.cluster import Cluster
from leitstand.store.file_lock import FileLock

PREFIX = "drill-"
SOCKET_PREFIX = "leitstand-drill-"
LOCK = ".lock"
SOCKET_LINE = 4
"""Where postmaster.pid names the socket's directory (PostgreSQL's miscadmin.h), from 0."""


@contextmanager
def drill_room(scratch: Path, account: Account, binaries: Binaries) -> Iterator[Path]:
    """A new directory in ``scratch`` that belongs to ``account``; removed at the end of the block.

    What killed drills have left is removed first, their servers stopped. Raises OSError.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    # Without the outer lock, another drill could take a room for abandoned before it is locked.
    with FileLock(scratch / LOCK):
        remove_leftovers(scratch, account, binaries)
        room = Path(tempfile.mkdtemp(prefix=PREFIX, dir=scratch))
        descriptor = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        account.own(room)
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)
        os.close(descriptor)


def remove_leftovers(scratch: Path, account: Account, binaries: Binaries) -> list[str]:
    """Remove the rooms that nobody holds; returns their names.

    A server that a killed drill has left is stopped first; if it does not stop, its room stays.
    """
    abandoned = [path for path in scratch.glob(f"{PREFIX}*") if is_abandoned(path)]
    return [path.name for path in abandoned if _removed(path, account, binaries)]


def _removed(room: Path, account: Account, binaries: Binaries) -> bool:
    socket_dir = _socket_dir(room / "data")
    try:
        Cluster(room / "data", binaries, account).stop(deadline=5.0)
    except LeitstandError:
        return False
    if socket_dir is not None:
        shutil.rmtree(socket_dir, ignore_errors=True)
    shutil.rmtree(room, ignore_errors=True)
    return not room.exists()


def _socket_dir(data: Path) -> Path | None:
    """Where the server of a killed drill has its socket: only a directory of a drill's name."""
    try:
        path = Path((data / "postmaster.pid").read_text().split("\n")[SOCKET_LINE])
    except (OSError, IndexError):
        return None
    ours = path.parent == Path("/tmp") and path.name.startswith(SOCKET_PREFIX)  # noqa: S108 - compared
    return path if ours else None
