"""A temporary directory beside a restore's target that is gone in the end, also after a crash."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive.held_directory import held_directory, sweep

_MARK = ".restore-"
_NAME_LIMIT = 100


@contextmanager
def fresh_directory(target: Path) -> Iterator[Path]:
    """A new directory in ``target``'s parent, closed to others; removed at the end of the block.

    Leftovers of killed restores to the same target are removed first. Raises OSError.
    """
    name = os.fsdecode(os.fsencode(target.name)[:_NAME_LIMIT])  # 255 bytes are all that there is
    prefix = f".{name}{_MARK}"
    sweep(target.parent, prefix)
    with held_directory(target.parent, prefix) as path:
        yield path
