"""Finds what somebody probably meant by a name that does not exist."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import TypeVar

from leitstand.errors import NotFoundError, UsageError

Choice = TypeVar("Choice", bound=Enum)

LONGEST_SHOWN = 100
"""Characters of a wrong name that an error repeats."""


def nearest(name: str, known: Iterable[str], likeness: float = 0.7) -> str | None:
    """The most similar of ``known``, if any is similar enough (1: the same, 0: anything)."""
    # Comparing takes quadratic time, and nothing that long is a name.
    wanted = name[:LONGEST_SHOWN]
    return next(iter(get_close_matches(wanted, list(known), n=1, cutoff=likeness)), None)


def no_such(thing: str, name: str, known: Iterable[str], see: str) -> NotFoundError:
    """The error for a name that no ``thing`` has; ``see`` says where the names are."""
    return NotFoundError(f"no {thing} is named {_shown(name)}", remedy=_meant(name, known) + see)


def no_choice(thing: str, name: str, known: Sequence[str]) -> UsageError:
    """The error for a word that is none of the few that are ``known``."""
    there_are = f"There are: {', '.join(known)}."
    return UsageError(f"no {thing} is named {_shown(name)}", remedy=_meant(name, known) + there_are)


def chosen(thing: str, name: str, choices: type[Choice]) -> Choice:
    """The choice whose value is ``name``; raises what ``no_choice`` gives."""
    try:
        return choices(name)
    except ValueError:
        raise no_choice(thing, name, [choice.value for choice in choices]) from None


def _shown(name: str) -> str:
    return repr(name if len(name) <= LONGEST_SHOWN else name[: LONGEST_SHOWN - 1] + "…")


def _meant(name: str, known: Iterable[str]) -> str:
    similar = nearest(name, known, 0.6)
    return f"Did you mean {similar}? " if similar else ""
