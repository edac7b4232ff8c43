"""A temporary directory beside a restore's target that is gone in the end, also after a crash.

It is locked while its maker lives (flock(2) on the directory itself), so the next restore knows
which ones were left by a process that was killed, and removes only those.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MARK = ".restore-"


@contextmanager
def fresh_directory(target: Path) -> Iterator[Path]:
    """A new directory in ``target``'s parent, closed to others; removed at the end of the block.

    Leftovers of killed restores to the same target are removed first. Raises OSError.
    """
    prefix = f".{target.name[:100]}{_MARK}"
    _remove_abandoned(target.parent, prefix)
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for name in os.listdir(parent):
        if name.startswith(prefix) and is_abandoned(parent / name):
            shutil.rmtree(parent / name, ignore_errors=True)


def is_abandoned(path: Path) -> bool:
    """Whether ``path`` is a directory whose maker, who holds a lock on it, no longer lives."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
