"""A temporary directory that is locked while its maker lives, and swept away after a kill -9.

Who sweeps holds the lock, too. So a directory may be taken for abandoned only before its maker has
locked it, who notices that it is gone and makes another. Where directories cannot be locked nothing
is swept.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from leitstand.archive.directory_lock import (
    Hold,
    lock_directory,
    open_directory,
    still_there,
)

_RANDOM = re.compile("[a-z0-9_]{8}")
"""What mkdtemp puts at the end of a name."""


@contextmanager
def held_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """A new directory in ``parent``, closed to others; removed at the end of the block.

    Raises OSError when it cannot be made.
    """
    path, descriptor = _make(parent, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def sweep(parent: Path, prefix: str) -> None:
    """Remove the directories in ``parent`` whose makers died; only this user's, root's all.

    One that only begins like ours (``.data.restore-notes``) is somebody's own, and stays.
    Raises OSError when ``parent`` cannot be listed.
    """
    for name in os.listdir(parent):
        if name.startswith(prefix) and _RANDOM.fullmatch(name, len(prefix)):
            with abandoned(parent / name) as free:
                if free and os.geteuid() in (0, (parent / name).stat().st_uid):
                    shutil.rmtree(parent / name, ignore_errors=True)


@contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Whether ``path`` is a directory whose maker no longer lives; the caller's for the block."""
    with ExitStack() as stack:
        try:
            descriptor = open_directory(path)
            stack.callback(os.close, descriptor)
            free = lock_directory(descriptor, Hold.ALONE, unsupported=False)
        except OSError:
            free = False
        yield free and still_there(descriptor, path)


def _make(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):  # swept before it was locked
            descriptor = open_directory(path)
            lock_directory(descriptor, Hold.ALONE, wait=True)
            if still_there(descriptor, path):
                return path, descriptor
            os.close(descriptor)
