"""Lists a directory tree as an object store: every regular file, in byte order of its whole key.

Walking directories by name would not give that order: ``a.b`` comes before ``a/x``, since a dot
sorts before a slash. So a directory takes part in the order of its siblings as its name with a
slash behind, and then the walk is the order of the keys.
"""

import asyncio
import errno
import os
import stat
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from pathlib import Path

from leitstand.archive.integrity.sorted_names import sorted_batches
from leitstand.archive.integrity.storage_key import folded
from leitstand.archive.integrity.store import Gap, ListingNotes

PAGE = 2_000
"""Keys of a page at least, if there are so many: small enough for the processor's cache."""

_SLASH = 0x2F
_GONE = {errno.ENOENT, errno.ENOTDIR}


class DirectoryListing:
    """One walk through a tree; symbolic links are not followed and are no objects."""

    def __init__(self, root: bytes, scratch: Path | None = None) -> None:
        self.notes = ListingNotes()
        self._root = root
        self._scratch = scratch

    async def pages(self) -> AsyncGenerator[list[bytes]]:
        """See Listing. The walk goes on in a thread, page by page."""
        pages = self.walk()
        while (page := await asyncio.to_thread(next, pages, None)) is not None:
            yield page

    def walk(self) -> Iterator[list[bytes]]:
        """The pages, for callers that may block."""
        page: list[bytes] = []
        for keys in self._stretches():
            page += keys
            if len(page) >= PAGE:
                yield page
                page = []
        if page:
            yield page

    def _stretches(self) -> Iterator[list[bytes]]:
        """Stretches of keys; by a stack, since a tree may be 2,000 levels deep."""
        stack = [self._directory(b"")]
        while stack:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
            elif isinstance(found, bytes):
                stack.append(self._directory(found))
            else:
                yield found

    def _directory(self, prefix: bytes) -> Iterator[list[bytes] | bytes]:
        """The keys directly below ``prefix`` in stretches, and in their places the directories."""
        try:
            batches = sorted_batches(self._entries(prefix), self._scratch)
            names = next(batches)
        except OSError as error:
            self._note_unreadable(prefix, error)
            return
        self._note_collisions(prefix, names)
        while names:
            yield from _in_stretches(prefix, names)
            names = next(batches, [])

    def _entries(self, prefix: bytes) -> Iterator[bytes]:
        with os.scandir(os.path.join(self._root, prefix) if prefix else self._root) as entries:
            while some := list(islice(entries, PAGE)):
                files = [entry.name for entry in some if entry.is_file(follow_symlinks=False)]
                yield from files
                if len(files) < len(some):
                    yield from self._others(prefix, some)

    def _others(self, prefix: bytes, entries: list[os.DirEntry[bytes]]) -> Iterator[bytes]:
        """The directories among ``entries``; what is no file either is noted."""
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield entry.name + b"/"
            elif not entry.is_file(follow_symlinks=False):
                self._note_irregular(prefix, entry)

    def _note_irregular(self, prefix: bytes, entry: os.DirEntry[bytes]) -> None:
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        what = "a symbolic link" if stat.S_ISLNK(mode) else "neither a file nor a directory"
        self.notes.add_irregular(prefix + entry.name, what)

    def _note_unreadable(self, prefix: bytes, error: OSError) -> None:
        """A directory that is not there is empty: the store's own, or one removed meanwhile."""
        if error.errno not in _GONE or (prefix == b"" and os.path.lexists(self._root)):
            self.notes.add_gap(Gap.below(prefix, error.strerror or str(error)))

    def _note_collisions(self, prefix: bytes, names: list[bytes]) -> None:
        """Names of one directory that a store which folds names could not tell apart."""
        fold = bytes.lower if b"".join(names).isascii() else folded
        if len(set(map(fold, names))) == len(names):
            return
        groups: dict[bytes, list[bytes]] = defaultdict(list)
        for name in names:
            groups[folded(name)].append(prefix + name)
        for keys in groups.values():
            if len(keys) > 1:
                self.notes.add_collision(keys)


def _in_stretches(prefix: bytes, names: list[bytes]) -> Iterator[list[bytes] | bytes]:
    if b"/" not in b"".join(names):
        yield [prefix + name for name in names]
        return
    keys: list[bytes] = []
    for name in names:
        if name[-1] == _SLASH:
            if keys:
                yield keys
                keys = []
            yield prefix + name
        else:
            keys.append(prefix + name)
    if keys:
        yield keys
