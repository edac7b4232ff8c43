"""Pages of lists that go from the highest number down, for the API and for people."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TypeVar

from leitstand.web.problem import ProblemError

T = TypeVar("T")

LARGEST = 2**63 - 1


def number_in(cursor: str | None) -> int | None:
    """The number that a page begins below; None for the first page, ProblemError for no cursor."""
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 20) or int(cursor) > LARGEST:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "USAGE",
            "the cursor is none",
            "Use `next` of an earlier answer as it is.",
        )
    return int(cursor)


def cut(
    found: Sequence[T], number: Callable[[T], int], limit: int
) -> tuple[Sequence[T], str | None]:
    """The page, of one item more than it may have, and the cursor of the page after it."""
    shown = found[:limit]
    return shown, str(number(shown[-1])) if len(found) > limit else None
