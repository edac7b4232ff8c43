"""Keeps two processes from writing to one backup directory at the same time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from leitstand.errors import ConflictError, FailureClass, LeitstandError

LOCK_NAME = ".lock"
_NOTE_LIMIT = 200
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class BackupBusyError(ConflictError):
    """Another process works on the backup directory."""

    code = "BACKUP_BUSY"
    failure_class = FailureClass.TRANSIENT


class BackupStorageError(LeitstandError):
    """The backup directory cannot be read or written."""

    code = "BACKUP_STORAGE"
    failure_class = FailureClass.TRANSIENT

    @classmethod
    def of(cls, directory: Path, error: OSError) -> Self:
        """The error that says what ``error`` means for ``directory``."""
        return cls(
            f"the backup directory {directory} cannot be used: {error.strerror}",
            detail=str(error),
            remedy="Look for room and permissions, and that the right disk is mounted there.",
        )


@contextmanager
def backup_lock(directory: Path, purpose: str) -> Iterator[None]:
    """Hold ``directory`` for writing, never waiting: BackupBusyError names who holds it.

    The kernel releases the lock when its holder dies, whatever the file says. The file stays.
    Raises OSError where it cannot be made.
    """
    descriptor = os.open(directory / LOCK_NAME, _OPEN, 0o600)
    try:
        own_like(directory / LOCK_NAME, directory)
        _lock(descriptor, directory)
        note = f"{purpose}, process {os.getpid()}, since {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def own_like(path: Path, model: Path) -> None:
    """As root, give ``path`` (only itself) to the owner of ``model``.

    A backup that root takes in a service's directory must stay the service's to rotate.
    """
    if os.geteuid() == 0:
        owner = model.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _lock(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, _NOTE_LIMIT, 0).decode(errors="replace") or "another process"
        raise BackupBusyError(
            f"{directory} is in use: {holder}",
            remedy="Wait until it has ended; the lock goes with its process.",
        ) from None
