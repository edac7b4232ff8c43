"""Puts any number of names in byte order within bounded memory."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import IO

RUN = 50_000
"""Names that are sorted in memory; a directory with more goes through temporary files."""

BATCH = 2_000
_SEPARATOR = b"\0"
"""No file name holds it."""


def sorted_batches(
    names: Iterable[bytes], scratch: Path | None = None, run: int = RUN
) -> Iterator[list[bytes]]:
    """``names`` in byte order, in lists; up to ``run`` of them come as one.

    More are sorted in runs that lie in unnamed files in ``scratch``, which vanish with the process.
    """
    source = iter(names)
    first = sorted(islice(source, run))
    following = next(source, None)
    if following is None:
        yield first
        return
    source = chain((following,), source)
    with ExitStack() as stack:
        runs = [stack.enter_context(_spilled(first, scratch))]
        while part := sorted(islice(source, run)):
            runs.append(stack.enter_context(_spilled(part, scratch)))
        merged = heapq.merge(*map(_read_back, runs))
        while batch := list(islice(merged, BATCH)):
            yield batch


def _spilled(names: list[bytes], scratch: Path | None) -> IO[bytes]:
    file = tempfile.TemporaryFile(dir=scratch, prefix="leitstand-names-")  # noqa: SIM115 - by callers
    file.writelines(name + _SEPARATOR for name in names)
    file.seek(0)
    return file


def _read_back(file: IO[bytes], size: int = 65536) -> Iterator[bytes]:
    rest = b""
    while data := file.read(size):
        *names, rest = (rest + data).split(_SEPARATOR)
        yield from names
