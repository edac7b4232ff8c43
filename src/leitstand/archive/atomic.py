"""Puts a finished directory in the place of another in one step, and undoes it if need be.

``renameat2(RENAME_EXCHANGE)`` (Linux 3.15, since on ext4, XFS, Btrfs, tmpfs, overlayfs and, later,
ZFS) swaps two names at once, so at no moment is neither there. On a file system without it (NFS)
the old directory is renamed away first: for the moment between two renames the name does not exist,
and a crash in it leaves the old content beside it, under the temporary name.
"""

import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import structlog

from leitstand.archive.postgres.durable import sync_path
from leitstand.errors import ConflictError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
"""Both from linux/fcntl.h and linux/fs.h."""

_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
log = structlog.get_logger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)


class TakeoverError(ConflictError):
    """The finished directory could not be put in its place; the old content still is."""

    code = "TARGET_NOT_TAKEN"


def take_over(fresh: Path, target: Path, *, replace: bool) -> Path | None:
    """Make ``fresh`` the directory ``target``, durably; both have the same parent directory.

    Where ``target`` is absent or empty this is a rename. With ``replace`` its content, if there is
    any, is swapped, and the path where the old content lies now is returned: it is the caller's to
    remove, or to swap back. Raises TakeoverError; ``target`` is as it was then.
    """
    try:
        if replace and target.is_dir() and any(target.iterdir()):
            old = exchange(fresh, target)
        else:
            os.rename(fresh, target)  # over an empty directory, never over one with content
            old = None
        sync_path(target.parent)
    except OSError as error:
        raise TakeoverError(
            f"{target} cannot be replaced: {error.strerror}",
            remedy=_REMEDIES.get(error.errno or 0, "Look at its owner and permissions."),
        ) from error
    return old


_REMEDIES = {
    errno.EBUSY: "It is a mount point; restore into a directory below it, or unmount it.",
    errno.EXDEV: "It lies on another file system than its parent directory.",
    errno.ENOTEMPTY: "Something was written there meanwhile; choose an empty or new directory.",
    errno.EEXIST: "Something was written there meanwhile; choose an empty or new directory.",
}


def take_over_all(moves: Iterable[tuple[Path, Path]], *, replace: bool) -> None:
    """``take_over`` for pairs of fresh directory and target: all or none; then drop old content.

    Raises TakeoverError; every target is as it was then. The caller sees to it that nothing
    interrupts (``Interruptions.no_return``): between an exchange and the note of it nobody would
    know what there is to undo.
    """
    done: list[tuple[Path, Path, Path | None]] = []
    try:
        for fresh, target in moves:
            done.append((fresh, target, take_over(fresh, target, replace=replace)))
    except BaseException:
        for fresh, target, old in reversed(done):
            if old is not None:
                exchange(old, target)
            else:
                target.rename(fresh)
        raise
    for _, target, old in done:
        problem = discard(old) if old is not None else None
        if problem is not None:
            log.warning("old content not removed", target=str(target), problem=problem)


def exchange(first: Path, second: Path) -> Path:
    """Swap two directories; returns where the content of ``second`` lies now. Raises OSError."""
    try:
        _rename_exchange(first, second)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        return exchange_in_two_steps(first, second)
    return first


def exchange_in_two_steps(first: Path, second: Path) -> Path:
    """The same by two renames, for file systems that know no exchange. Raises OSError."""
    aside = Path(tempfile.mkdtemp(prefix=f"{first.name[:100]}-old-", dir=first.parent))
    os.rename(second, aside)
    try:
        os.rename(first, second)
    except BaseException:
        os.rename(aside, second)
        raise
    return aside


def discard(path: Path) -> str | None:
    """Remove a directory that nobody needs any more; what could not be removed, or None."""
    problems: list[str] = []

    def note(_: object, name: str, info: tuple[type, BaseException, object]) -> None:
        problems.append(f"{name}: {getattr(info[1], 'strerror', None) or info[1]}")

    shutil.rmtree(path, onerror=note)
    return problems[0] if problems else None


def _rename_exchange(first: Path, second: Path) -> None:
    renameat2 = getattr(_libc, "renameat2", None)  # glibc 2.28, musl 1.2
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(second))
