"""A directory tree as an object store: the key is the path below the directory."""

import asyncio
import errno
import os
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
from leitstand.archive.integrity.tree_hashing import ObjectTree

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
"""Also a symbolic link on the way, which the listing does not follow either."""


class DirectoryStore:
    """The regular files below ``root``; a directory that does not exist is an empty store."""

    def __init__(self, root: Path, scratch: Path | None = None) -> None:
        self.name = str(root)
        self.tree: bytes | None = os.fsencode(root)
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
        tree = self._own_tree()
        tree.forget()  # the directory of an earlier look may have been replaced since
        found: dict[bytes, ObjectFacts | None] = {}
        for key in keys:
            try:
                status = tree.status(key)
            except OSError as error:
                if error.errno in _ABSENT:
                    found[key] = None
                continue
            found[key] = ObjectFacts(status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
        return found

    def read(self, key: bytes) -> Iterator[memoryview]:
        """See Store."""
        try:
            yield from self._own_tree().read(key)
        except OSError as error:
            raise unreadable(key, error.errno, error.strerror or str(error)) from error

    def _own_tree(self) -> ObjectTree:
        """This thread's."""
        tree: ObjectTree | None = getattr(self._thread, "tree", None)
        if tree is None:
            tree = self._thread.tree = ObjectTree(self._root)
        return tree


def unreadable(key: bytes, number: int | None, why: str) -> ObjectUnreadableError:
    """The error of an object whose file gives the error ``number``: missing, or not readable."""
    if number in _ABSENT:
        return ObjectMissingError(f"no object {key_text(key)}: {why}")
    return ObjectUnreadableError(f"{key_text(key)} cannot be read: {why}")
