"""What keeps a backup from being read or restored and is not its fault, such as a full disk.

A restore onto a full disk says nothing about the backup. Whoever took it for damage would look in
the wrong place, and a drill would be held against a sound generation.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.errors import FailureClass, LeitstandError


class HindranceError(LeitstandError):
    """This machine could not do it; says nothing about the backup."""

    code = "HINDERED"
    failure_class = FailureClass.TRANSIENT


class UnwritableError(HindranceError):
    """A place takes no more of what has to be written there."""

    code = "TARGET_UNWRITABLE"


class KilledError(HindranceError):
    """A program that read the backup was killed, as when memory is short."""

    code = "PROGRAM_KILLED"


_OBSTACLES = {
    errno.ENOSPC: ("no space left on device", "Make room there"),
    errno.EDQUOT: ("disk quota exceeded", "Raise the quota"),
    errno.EROFS: ("read-only file system", "Mount it for writing"),
    errno.EFBIG: ("file too large", "Raise the limit for the size of files (ulimit -f)"),
}
"""The words are those of the C locale, and of Go; programs that are asked here run in English."""


def obstacle_of(error: OSError) -> str | None:
    """The words for what keeps from writing; None for any other error."""
    known = _OBSTACLES.get(error.errno or 0)
    return None if known is None else known[0]


def obstacle_said(text: str) -> str | None:
    """The words among what a program has said that tell what keeps from writing, or None."""
    said = text.casefold()
    return next((words for words, _ in _OBSTACLES.values() if words in said), None)


def unwritable(place: Path, obstacle: str, detail: str | None = None) -> UnwritableError:
    """The error for a place where ``obstacle`` stopped the work: that of ``obstacle_said``, or
    whatever else a program said of the place.
    """
    known = (remedy for words, remedy in _OBSTACLES.values() if words == obstacle)
    remedy = next(known, "Look at that place")
    return UnwritableError(
        f"{place} cannot be written: {obstacle}",
        detail=detail,
        remedy=f"{remedy}, or choose another place, and try again; this says nothing about the"
        " backup.",
    )


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Have an OSError of the block that is about room be raised as UnwritableError."""
    try:
        yield
    except OSError as error:
        obstacle = obstacle_of(error)
        if obstacle is None:
            raise
        raise unwritable(place, obstacle, str(error)) from error


def hindrance_in(error: Exception) -> str | None:
    """The remedy, if ``error`` says nothing about the backup that was tried; None if it may."""
    if isinstance(error, HindranceError):
        return error.remedy or "Try again."
    said = error.detail if isinstance(error, LeitstandError) else None
    obstacle = obstacle_of(error) if isinstance(error, OSError) else obstacle_said(said or "")
    return None if obstacle is None else unwritable(Path(), obstacle).remedy
