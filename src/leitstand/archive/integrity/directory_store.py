"""A directory tree as an object store: the key is the path below the directory."""

import asyncio
import errno
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from leitstand.archive.integrity.directory_listing import DirectoryListing
from leitstand.archive.integrity.storage_key import key_text
from leitstand.archive.integrity.store import (
    ObjectFacts,
    ObjectMissingError,
    ObjectUnreadableError,
)

PIECE = 256 * 1024
"""Bytes of a read; more is not faster, and this stays in the processor's cache for the hash."""

_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a fifo must not hold us up
_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
"""Also a symbolic link on the way, which the listing does not follow either."""

_NO_NAMES = {b"", b".", b".."}


class DirectoryStore:
    """The regular files below ``root``; a directory that does not exist is an empty store."""

    def __init__(self, root: Path, scratch: Path | None = None) -> None:
        self.name = str(root)
        self._root = os.fsencode(root)
        self._scratch = scratch
        self._thread = threading.local()

    def listing(self) -> DirectoryListing:
        """See Store."""
        return DirectoryListing(self._root, self._scratch)

    async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
        """See Store."""
        return await asyncio.to_thread(self._look, keys)

    def _look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
        self._thread.directory = None  # from an earlier look; it may have been replaced since
        found: dict[bytes, ObjectFacts | None] = {}
        for key in keys:
            try:
                found[key] = self._facts(key)
            except ObjectMissingError:
                found[key] = None
            except ObjectUnreadableError:
                continue
        return found

    def _facts(self, key: bytes) -> ObjectFacts:
        try:
            directory, name = self._place(key)
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            raise _unreadable(key, error) from error
        if not stat.S_ISREG(status.st_mode):
            raise _missing(key, "what is there is no regular file")
        return ObjectFacts(status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def read(self, key: bytes) -> Iterator[memoryview]:
        """See Store. The kernel is told not to keep large files in memory at others' expense."""
        try:
            file = self._open(key)
        except OSError as error:
            raise _unreadable(key, error) from error
        try:
            yield from self._pieces(key, file)
        finally:
            os.close(file)

    def _open(self, key: bytes) -> int:
        try:
            return self._open_in(*self._place(key))
        except FileNotFoundError:  # the directory that was kept may have been replaced by another
            self._thread.directory = None
            return self._open_in(*self._place(key))

    def _open_in(self, directory: int, name: bytes) -> int:
        try:
            return os.open(name, _FILE | os.O_NOATIME, dir_fd=directory)
        except PermissionError:  # O_NOATIME is for the file's owner alone
            return os.open(name, _FILE, dir_fd=directory)

    def _pieces(self, key: bytes, file: int) -> Iterator[memoryview]:
        buffer = self._buffer()
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise _missing(key, "what is there is no regular file")
            if status.st_size > PIECE:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_NOREUSE)
            while count := os.readv(file, [buffer]):
                yield buffer[:count]
        except OSError as error:
            raise _unreadable(key, error) from error

    def _buffer(self) -> memoryview:
        buffer: memoryview | None = getattr(self._thread, "buffer", None)
        if buffer is None:
            buffer = self._thread.buffer = memoryview(bytearray(PIECE))
        return buffer

    def _place(self, key: bytes) -> tuple[int, bytes]:
        """An open directory and the name in it, reached without following any link."""
        parent, _, name = key.rpartition(b"/")
        if name in _NO_NAMES or b"\0" in key:
            raise OSError(errno.ENOENT, "no file can have this name")
        return self._directory(parent), name

    def _directory(self, parent: bytes) -> int:
        """The directory, open; this thread's last one is kept, as keys come in order."""
        kept: _OpenDirectory | None = getattr(self._thread, "directory", None)
        if kept is not None and kept.path == parent:
            return kept.descriptor
        self._thread.directory = None
        opened = _OpenDirectory(self._root, parent)
        self._thread.directory = opened
        return opened.descriptor


class _OpenDirectory:
    """A directory below a root, opened name by name; closed with the last reference to it."""

    descriptor = -1

    def __init__(self, root: bytes, path: bytes) -> None:
        self.path = path
        self.descriptor = os.open(root, _DIRECTORY & ~os.O_NOFOLLOW)
        for name in path.split(b"/") if path else ():
            above = self.descriptor
            try:
                if name in _NO_NAMES:
                    raise OSError(errno.ENOENT, "no directory can have this name")
                self.descriptor = os.open(name, _DIRECTORY, dir_fd=above)
            finally:
                if self.descriptor == above:
                    self.descriptor = -1
                os.close(above)

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def _missing(key: bytes, why: str) -> ObjectMissingError:
    return ObjectMissingError(f"no object {key_text(key)}: {why}")


def _unreadable(key: bytes, error: OSError) -> ObjectUnreadableError:
    why = error.strerror or str(error)
    if error.errno in _ABSENT:
        return _missing(key, why)
    return ObjectUnreadableError(f"{key_text(key)} cannot be read: {why}")
