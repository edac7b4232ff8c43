"""A reconciliation of two sorted files of keys, in a process of its own, for time and memory.

``python -m bench.listing ROWS OBJECTS PLANTED`` prints seconds and peak bytes as JSON. OBJECTS may
be a directory, which is then listed for real. PLANTED names the keys that are in one of them only.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, overload

from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.reconcile import ReconcileOptions, reconcile
from leitstand.archive.integrity.revision import Revision, RevisionPage
from leitstand.archive.integrity.store import ListingNotes, ObjectFacts, Store

PIECE = 32 * 1024
OLD = datetime(2020, 1, 1, tzinfo=UTC)


def lists_of_lines(path: Path) -> Iterator[list[bytes]]:
    """The lines of a file, about a thousand at a time."""
    rest = b""
    with path.open("rb", buffering=0) as file:
        while data := file.read(PIECE):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            yield lines


class Numbered(Sequence[Revision]):
    """The revisions of consecutive lines, made when one is asked for."""

    def __init__(self, keys: list[bytes], first: int) -> None:
        self._keys, self._first = keys, first

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> Revision: ...

    @overload
    def __getitem__(self, index: slice) -> "Numbered": ...

    def __getitem__(self, index: int | slice) -> "Revision | Numbered":
        if isinstance(index, slice):
            start, _, _ = index.indices(len(self._keys))
            return Numbered(self._keys[index], self._first + start)
        return Revision(self._keys[index], self._first + index, self._first + index)


class FileRevisions:
    """A file of keys in the place of a table."""

    def __init__(self, path: Path, absent: frozenset[bytes]) -> None:
        self._path, self._absent = path, absent

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        pass

    async def pages(self, *, checksums: bool = False) -> AsyncGenerator[RevisionPage]:
        first = 0
        for keys in lists_of_lines(self._path):
            yield RevisionPage(keys, Numbered(keys, first))
            first += len(keys)

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, list[Revision]]:
        return {key: [Revision(key, 0, 0)] for key in keys if key not in self._absent}


class FileListing:
    """A file of keys in the place of a store's listing."""

    def __init__(self, path: Path) -> None:
        self.notes = ListingNotes()
        self._path = path

    async def pages(self) -> AsyncGenerator[list[bytes]]:
        for keys in lists_of_lines(self._path):
            yield keys


class FileStore:
    """A store that has exactly the keys of a file."""

    def __init__(self, path: Path, absent: frozenset[bytes]) -> None:
        self.name = str(path)
        self.tree: bytes | None = None
        self._path, self._absent = path, absent

    def listing(self) -> FileListing:
        return FileListing(self._path)

    async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
        facts = ObjectFacts(0, OLD)
        return {key: None if key in self._absent else facts for key in keys}

    def read(self, key: bytes) -> Iterator[bytes]:
        raise NotImplementedError


def peak_memory() -> int:
    """Bytes; getrusage would count what the parent had when it forked."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def main() -> None:
    """Reconcile, and print what it took."""
    rows, objects, planted = map(Path, sys.argv[1:])
    only_rows, only_objects = (
        frozenset(line.encode() for line in lines) for lines in json.loads(planted.read_text())
    )
    store: Store = DirectoryStore(objects) if objects.is_dir() else FileStore(objects, only_rows)
    options = ReconcileOptions(grace=0, existing=False)
    began = time.perf_counter()
    result = asyncio.run(reconcile(FileRevisions(rows, only_objects), store, options))
    seconds = time.perf_counter() - began
    assert result.missing.count == len(only_rows), result.counts
    assert result.orphaned.count == len(only_objects), result.counts
    print(json.dumps({"seconds": seconds, "peak": peak_memory(), "keys": result.existing.count}))


if __name__ == "__main__":
    main()
