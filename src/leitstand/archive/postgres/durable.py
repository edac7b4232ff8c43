"""Makes files and names survive a power failure: fsync(2) of what was written and of directories.

Policy: what gets its final name was synchronised before, every file and every directory, and the
directory that holds the name is afterwards. The programs' own synchronisation is switched off where
Leitstand verifies first, so that the disk writes while the processor checks.
"""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_READ = os.O_RDONLY | os.O_CLOEXEC
_ALL = ctypes.c_int64(0)
"""From the beginning, and as far as the file goes."""

_SYNC_FILE_RANGE_WRITE = 2
"""From linux/fs.h."""


def sync_tree(top: Path) -> None:
    """Synchronise ``top`` and everything in it, following no links; raises OSError.

    Writing is begun for all files before any is waited for: otherwise each waits for a commit of
    the file system's journal of its own.
    """
    paths = list(_paths_in(top))
    for path in paths:
        _begin_writing(path)
    for path in paths:
        sync_path(path)


def _paths_in(top: Path) -> Iterator[Path]:
    """Files and directories, each directory after what is in it, ``top`` last; no links."""
    for folder, _, files in os.walk(top, topdown=False, onerror=_raise):
        yield from (path for name in files if not (path := Path(folder, name)).is_symlink())
        yield Path(folder)


def _begin_writing(file: Path) -> None:
    """A request without a promise (sync_file_range(2)); what fails here, fsync reports."""
    descriptor = os.open(file, _READ)
    try:
        _libc.sync_file_range(descriptor, _ALL, _ALL, _SYNC_FILE_RANGE_WRITE)
    finally:
        os.close(descriptor)


def sync_path(path: Path) -> None:
    """Synchronise one file, or one directory's list of names; a link is followed."""
    descriptor = os.open(path, _READ)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(directory: Path) -> None:
    """Synchronise the whole file system of ``directory`` (syncfs(2)); raises OSError.

    For trees whose files cannot be opened one by one: without permission, pipes, devices.
    """
    descriptor = os.open(directory, _READ | os.O_DIRECTORY)
    try:
        if _libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(directory))
    finally:
        os.close(descriptor)


def write_durably(path: Path, content: str) -> None:
    """Create the file ``path``, which must not exist, and synchronise it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _raise(error: OSError) -> None:
    raise error
