"""Writes answers of the API: documents, and pages of lists with a cursor to the next one."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Query, Response

from leitstand.json_document import to_line
from leitstand.nearest import no_such


class Shown(Protocol):
    """What has a JSON shape."""

    def as_dict(self) -> dict[str, Any]:
        """The shape."""


S = TypeVar("S", bound=Shown)

Cursor = Annotated[str | None, Query(description="`next` of the page before this one.")]
Limit = Annotated[int, Query(ge=1, le=500, description="How many items, at most.")]


def document(shown: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """The document as JSON, on one line."""
    return Response(to_line(shown), status, media_type="application/json")


def page(items: Sequence[Shown], cursor: str | None) -> Response:
    """A page of a list; ``cursor`` leads to the next one, None after the last."""
    return document({"items": [item.as_dict() for item in items], "next": cursor})


def page_by_name(
    items: Sequence[S], name: Callable[[S], str], cursor: str | None, limit: int
) -> Response:
    """The page of a list, ordered by name and short enough to be had whole, after ``cursor``."""
    after = [item for item in items if cursor is None or name(item) > cursor]
    shown = after[:limit]
    return page(shown, name(shown[-1]) if len(after) > limit else None)


def one_by_name(
    items: Sequence[S], name_of: Callable[[S], str], name: str, thing: str, see: str
) -> Response:
    """The document of the item of that name; raises NotFoundError, as ``no_such`` words it."""
    named = {name_of(item): item for item in items}
    if name not in named:
        raise no_such(thing, name, named, see)
    return document(named[name].as_dict())
