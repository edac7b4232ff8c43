"""flock(2) on a directory itself: the kernel drops it with its holder, and no file is needed.

Not every file system locks directories (NFS does not); what that means is for the caller to say.
"""

import errno
import fcntl
import os
from enum import IntEnum
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}


class Hold(IntEnum):
    """How a directory is held: by several together, or by one alone."""

    SHARED = fcntl.LOCK_SH
    ALONE = fcntl.LOCK_EX


def open_directory(path: Path) -> int:
    """A descriptor for the directory ``path``; never follows a link. Raises OSError."""
    return os.open(path, _OPEN)


def lock_directory(
    descriptor: int, hold: Hold, *, wait: bool = False, unsupported: bool = True
) -> bool:
    """Lock what ``descriptor`` is open for until it is closed; whether that worked.

    Without ``wait`` the answer comes at once. ``unsupported`` is the answer where the file system
    locks no directories.
    """
    try:
        fcntl.flock(descriptor, hold if wait else hold | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return unsupported
    return True


def still_there(descriptor: int, path: Path) -> bool:
    """Whether ``path`` is the directory that ``descriptor`` is open for, not removed meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
