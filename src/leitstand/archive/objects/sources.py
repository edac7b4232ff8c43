"""Checks what is to be backed up before restic sees it, and finds what restic drops in silence.

A source that is missing is no error to restic before 0.19, and the empty directory below an
unmounted file system is none to any. Sockets are left out by all without a word.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from leitstand.errors import FailureClass, LeitstandError, UsageError
from leitstand.execution import storable

NAMES_KEPT = 10


class SourcesUnusableError(LeitstandError):
    """Nothing of what should be backed up is there."""

    code = "OBJECT_SOURCE_MISSING"
    failure_class = FailureClass.TRANSIENT


@dataclass(frozen=True)
class Sources:
    """Directories to back up, and a sentence for each that was asked for and cannot be."""

    usable: tuple[Path, ...]
    problems: tuple[str, ...]
    filled: tuple[str, ...]
    """Names of those that are not empty."""


def checked_sources(
    wanted: Sequence[Path], repository: Path | None, formerly_filled: Collection[str]
) -> Sources:
    """Look at each source; links are followed, so that names stay what they lead to.

    One that is empty now and was not at the last backup counts as missing. Raises UsageError for
    what can never be right, SourcesUnusableError when nothing is left.
    """
    usable, problems, filled = [], [], []
    for path in wanted:
        place = path.resolve()
        _refuse_repository(place, repository)
        problem, empty = _look(place)
        if problem is None and empty and name_of(place) in formerly_filled:
            problem = "it is empty, and was not at the last backup; is it mounted?"
        if problem is not None:
            problems.append(f"{path}: {problem}")
            continue
        usable.append(place)
        if not empty:
            filled.append(name_of(place))
    if not usable:
        raise SourcesUnusableError(
            "there is nothing to back up: " + "; ".join(problems),
            remedy="Look at the mounts. A directory that is rightly empty: --allow-empty.",
        )
    return Sources(tuple(usable), tuple(problems), tuple(filled))


def name_of(path: Path) -> str:
    """The path as it is kept in the database; not every name is text."""
    return storable(os.fsencode(path))


def _refuse_repository(place: Path, repository: Path | None) -> None:
    if repository is None:
        return
    resolved = repository.resolve()
    if place == resolved or place in resolved.parents:
        raise UsageError(
            f"{place} holds the repository itself, which would grow with each backup",
            remedy="Name the directories beside it, or move the repository.",
        )


def _look(place: Path) -> tuple[str | None, bool]:
    """What is wrong with a source, or None, and whether it is empty."""
    try:
        with os.scandir(place) as entries:
            return None, next(entries, None) is None
    except OSError as error:
        return error.strerror or str(error), True


@dataclass(frozen=True)
class Dropped:
    """Sockets below the sources: how many, and the first of them."""

    count: int = 0
    names: tuple[str, ...] = ()


def dropped_sockets(sources: Iterable[Path]) -> Dropped:
    """What a backup leaves out without being told; blocks while it walks through all names."""
    count, names = 0, list[str]()
    for source in sources:
        for path in _walk(os.fsencode(source), _is_socket):
            count += 1
            if len(names) < NAMES_KEPT:
                names.append(storable(path))
    return Dropped(count, tuple(names))


def _walk(top: bytes, wanted: Callable[["os.DirEntry[bytes]"], bool]) -> Iterator[bytes]:
    waiting = [top]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif wanted(entry):
                        yield entry.path
        except OSError:  # restic will say so
            continue


def _is_socket(entry: "os.DirEntry[bytes]") -> bool:
    if entry.is_file(follow_symlinks=False) or entry.is_symlink():
        return False  # without asking the file system: the directory says it
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False
