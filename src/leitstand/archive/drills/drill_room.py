"""A drill's directory: closed to other users, gone at the end, and swept away after a kill -9.

The next drill or verification sees which ones were left by a process that was killed, and touches
only those.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive.held_directory import abandoned, held_directory
from leitstand.errors import LeitstandError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries
from leitstand.store.cluster import Cluster

PREFIX = "drill-"
SOCKET_PREFIX = "leitstand-drill-"
SOCKET_LINE = 4
"""Where postmaster.pid names the socket's directory (PostgreSQL's miscadmin.h), from 0."""


@contextmanager
def drill_room(scratch: Path, account: Account, binaries: Binaries) -> Iterator[Path]:
    """A new directory in ``scratch`` that belongs to ``account``; removed at the end of the block.

    What killed drills have left is removed first, their servers stopped. Raises OSError.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    remove_leftovers(scratch, account, binaries)
    with held_directory(scratch, PREFIX) as room:
        account.own(room)
        yield room


def remove_leftovers(scratch: Path, account: Account, binaries: Binaries) -> list[str]:
    """Remove the rooms that nobody holds; returns their names.

    A server that a killed drill has left is stopped first; if it does not stop, its room stays.
    """
    removed = []
    for path in scratch.glob(f"{PREFIX}*"):
        with abandoned(path) as free:
            if free and _removed(path, account, binaries):
                removed.append(path.name)
    return removed


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
