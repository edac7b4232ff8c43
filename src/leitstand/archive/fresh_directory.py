"""A temporary directory beside a restore's target that is gone in the end, also after a crash."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive.held_directory import held_directory, sweep

_MARK = ".restore-"


@contextmanager
def fresh_directory(target: Path) -> Iterator[Path]:
    """A new directory in ``target``'s parent, closed to others; removed at the end of the block.

    Leftovers of killed restores to the same target are removed first. Raises OSError.
    """
    prefix = f".{target.name[:100]}{_MARK}"
    sweep(target.parent, prefix)
    with held_directory(target.parent, prefix) as path:
        yield path
