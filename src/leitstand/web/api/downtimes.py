"""The API's downtimes of a monitoring core, and its messages that could not be used."""

import time
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from leitstand.web.api.answers import Limit, document, page
from leitstand.web.api.downtime_shapes import (
    DeadLetterDetailShape,
    DeadLetterShape,
    DowntimeShape,
    DowntimeStatusShape,
    PastDowntimeShape,
    ReplayShape,
)
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Admin, Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.downtime_query import NAME, OpenQuery, PastQuery

router = APIRouter(prefix="/downtimes", tags=["downtimes"])

LetterId = Annotated[int, Path(ge=1, le=2**63 - 1, alias="id", description="The letter's number.")]
Host = Annotated[str, Query(pattern=NAME, description="As the core names it.")]
Service = Annotated[str | None, Query(pattern=NAME, description="A service on the host.")]
AfterLetter = Annotated[int, Query(ge=0, le=2**63 - 1, description="`next` of the page before.")]

NEXT: str | None = Field(None, description="`next` of the page before this one.")
LIMIT: int = Field(50, ge=1, le=500, description="How many items, at most.")


class OpenPage(OpenQuery):
    """A page of what the core has."""

    cursor: str | None = NEXT
    limit: int = LIMIT


class PastPage(PastQuery):
    """A page of the history."""

    cursor: str | None = NEXT
    limit: int = LIMIT


@router.get("", response_model=ItemsOf[DowntimeShape])
async def list_downtimes(_: Viewer, desk: Desk, asked: Annotated[OpenPage, Query()]) -> Response:
    """List what the core has scheduled and what runs, by start."""
    views = await desk.downtimes.views()
    wanted = asked.wanted()
    return page(*await views.scheduled_page(time.time(), wanted, asked.cursor, asked.limit))


@router.get("/history", response_model=ItemsOf[PastDowntimeShape])
async def list_history(_: Viewer, desk: Desk, asked: Annotated[PastPage, Query()]) -> Response:
    """List what happened, the newest first."""
    views = await desk.downtimes.views()
    wanted = asked.wanted()
    return page(*await views.history_page(time.time(), wanted, asked.cursor, asked.limit))


@router.get("/status", response_model=DowntimeStatusShape)
async def show_status(_: Viewer, desk: Desk, host: Host, service: Service = None) -> Response:
    """Say whether a host, or a service on it, is in downtime now, and until when."""
    views = await desk.downtimes.views()
    return document((await views.status(time.time(), host, service)).as_dict())


@router.get("/dead-letters", response_model=ItemsOf[DeadLetterShape])
async def list_letters(
    _: Viewer, desk: Desk, cursor: AfterLetter = 0, limit: Limit = 50
) -> Response:
    """List the messages that could not be used, the oldest first."""
    letters = await (await desk.downtimes.dead_letters()).list_all(limit + 1, cursor)
    shown = letters[:limit]
    return page(shown, str(shown[-1].id) if len(letters) > limit else None)


@router.get("/dead-letters/{id}", response_model=DeadLetterDetailShape)
async def show_letter(_: Viewer, desk: Desk, letter_id: LetterId) -> Response:
    """Show a message that could not be used, and why."""
    return document((await (await desk.downtimes.dead_letters()).get(letter_id)).as_dict())


@router.post("/dead-letters/{id}/replay", response_model=ReplayShape)
async def replay_letter(_: Operator, desk: Desk, letter_id: LetterId) -> Response:
    """Take the message in again; if it is accepted now, it is a dead letter no more."""
    return document((await desk.downtimes.replay(letter_id)).as_dict())


@router.delete("/dead-letters/{id}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
async def forget_letter(_: Admin, desk: Desk, letter_id: LetterId) -> Response:
    """Delete the message for good."""
    await (await desk.downtimes.dead_letters()).forget(letter_id)
    return Response(status_code=HTTPStatus.NO_CONTENT)
