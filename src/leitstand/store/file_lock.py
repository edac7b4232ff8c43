"""A lock between processes of one machine that the kernel releases when its holder dies."""

import fcntl
import os
import time
from pathlib import Path
from typing import Self

from leitstand.errors import LeitstandError, UnavailableError
from leitstand.store.interruptible import pause

POLL = 0.02
"""Seconds between two attempts: flock(2) itself knows no deadline and could not be given up."""


class LockedError(UnavailableError):
    """Another process held the lock for longer than we wanted to wait."""

    code = "LOCKED"


class LockFileError(LeitstandError):
    """The file to be locked cannot be made or opened."""

    code = "LOCK_FILE"


class FileLock:
    """flock(2) on the file ``path``; ``with`` holds it exclusively.

    The file stays where it is for ever: removing it would let two holders lock different files.
    It belongs to the owner of its directory, so that root may use an ordinary user's lock.
    """

    def __init__(self, path: Path, deadline: float = 30.0) -> None:
        self._path = path
        self._deadline = deadline
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        self._take(fcntl.LOCK_EX)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    def share(self) -> None:
        """Hold it together with others who share it; LockedError after the deadline."""
        self._take(fcntl.LOCK_SH)

    def held_by_nobody_else(self) -> bool:
        """Whether a shared lock is ours alone; it is exclusive from then on.

        Changing the kind of lock is not atomic: in between, somebody else may take it. Callers who
        act on the answer must keep others from coming by a second lock.
        """
        return self._try(fcntl.LOCK_EX)

    def release(self) -> None:
        """Give it up; nothing happens if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, kind: int) -> None:
        self._descriptor = _open(self._path)
        until = time.monotonic() + self._deadline
        while not self._try(kind):
            if time.monotonic() > until:
                self.release()
                raise LockedError(
                    f"another process has held {self._path} for {self._deadline:g} s",
                    remedy=f"See who it is (fuser {self._path}), and try again when it is done.",
                )
            pause(POLL)

    def _try(self, kind: int) -> bool:
        if self._descriptor is None:
            return False
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LockFileError(
            f"{path} cannot be opened for writing: {error.strerror}",
            remedy="See that its directory belongs to you, and that its file system is not full,"
            " not read-only and without faults (dmesg).",
        ) from error
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor
