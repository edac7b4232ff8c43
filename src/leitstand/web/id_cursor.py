"""Reads cursors of lists that are in the order of their ids, newest first."""

from http import HTTPStatus

from leitstand.web.problem import ProblemError

LARGEST = 2**63 - 1


def id_above(cursor: str | None) -> int | None:
    """The id below which the page begins; None: at the top. Raises ProblemError."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 20) or int(cursor) > LARGEST:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "USAGE",
            "the cursor is none",
            "Use `next` of an earlier answer as it is.",
        )
    return int(cursor)
