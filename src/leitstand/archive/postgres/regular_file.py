"""Opens the files of a backup, whatever somebody may have put in their places."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from leitstand.errors import LeitstandError


class ArchiveUnreadableError(LeitstandError):
    """A file of a backup cannot be read: permission, I/O error, or no regular file."""

    code = "BACKUP_UNREADABLE"


class ArchiveMissingError(ArchiveUnreadableError):
    """A file of a backup does not exist, or not any more."""

    code = "BACKUP_FILE_MISSING"


def open_regular(path: Path) -> int:
    """A descriptor for reading ``path``; raises ArchiveUnreadableError, ArchiveMissingError.

    Never follows a link and never waits on a FIFO or device in the file's place.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ArchiveMissingError("it does not exist") from None
    except OSError as error:
        raise ArchiveUnreadableError(f"it cannot be opened: {_reason(error)}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ArchiveUnreadableError("it is not a regular file")
    return fd


def read_small(path: Path, limit: int, on_bytes: Callable[[int], None] | None = None) -> bytes:
    """A whole file of at most ``limit`` bytes; raises as ``open_regular``, also when it is larger.

    ``on_bytes`` is told how many were read.
    """
    fd = open_regular(path)
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(fd).st_size
        if size > limit:
            raise ArchiveUnreadableError(f"it has {size} bytes, more than {limit}")
        try:
            content = file.read(size)
        except OSError as error:
            raise ArchiveUnreadableError(f"it cannot be read: {error.strerror}") from error
    if on_bytes is not None:
        on_bytes(len(content))
    return content


def _reason(error: OSError) -> str | None:
    return "it is a link" if error.errno == errno.ELOOP else error.strerror
