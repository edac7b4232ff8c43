"""The pages of downtimes: the list, a host's timeline, the history, and dead letters."""

import time
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from leitstand.access import Role
from leitstand.web.controls import Desk
from leitstand.web.downtime_query import KINDS, NAME, OPEN_STATES, OpenQuery, PastQuery
from leitstand.web.downtime_timeline import timeline
from leitstand.web.pages.guard import PageOperator, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/downtimes", include_in_schema=False)

SHOWN = 50
LetterId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Days = Annotated[int, Query(ge=1, le=366)]


class OpenForm(OpenQuery):
    """What the form of the list asks for."""

    cursor: str | None = None


class PastForm(PastQuery):
    """What the form of the history asks for."""

    cursor: str | None = None


@router.get("")
async def list_downtimes(
    caller: PageViewer, desk: Desk, request: Request, asked: Annotated[OpenForm, Query()]
) -> Response:
    """What the core has."""
    views = await desk.downtimes.views()
    wanted = asked.wanted()
    found, cursor = await views.scheduled_page(time.time(), wanted, asked.cursor, SHOWN)
    return pages_of(request).show(
        request,
        "downtimes.html",
        caller,
        downtimes=[one.as_dict() for one in found],
        asked=asked,
        kinds=KINDS,
        states=OPEN_STATES,
        further=_further(asked, cursor),
    )


@router.get("/history")
async def show_history(
    caller: PageViewer, desk: Desk, request: Request, asked: Annotated[PastForm, Query()]
) -> Response:
    """What happened, the newest first."""
    views = await desk.downtimes.views()
    wanted = asked.wanted()
    found, cursor = await views.history_page(time.time(), wanted, asked.cursor, SHOWN)
    return pages_of(request).show(
        request,
        "downtime_history.html",
        caller,
        downtimes=[one.as_dict() for one in found],
        asked=asked,
        kinds=KINDS,
        further=_further(asked, cursor),
    )


@router.get("/host")
async def show_host(
    caller: PageViewer,
    desk: Desk,
    request: Request,
    name: Annotated[str, Query(pattern=NAME)],
    days: Days = 7,
) -> Response:
    """A host's downtimes and its services' along a line, as many days back as ahead."""
    views, now = await desk.downtimes.views(), datetime.now(UTC)
    begin, end = now - timedelta(days=days), now + timedelta(days=days)
    found = await views.between(now.timestamp(), name, begin.timestamp(), end.timestamp())
    return pages_of(request).show(
        request,
        "downtime_host.html",
        caller,
        host=name,
        days=days,
        status=await views.status(now.timestamp(), name),
        downtimes=[one.as_dict() for one in found],
        line=timeline(found, begin, end, now),
    )


@router.get("/dead-letters")
async def list_letters(
    caller: PageViewer, desk: Desk, request: Request, after: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """The messages that could not be used."""
    letters = await (await desk.downtimes.dead_letters()).list_all(SHOWN + 1, after)
    return pages_of(request).show(
        request,
        "dead_letters.html",
        caller,
        letters=letters[:SHOWN],
        further=letters[SHOWN - 1].id if len(letters) > SHOWN else None,
    )


@router.get("/dead-letters/{letter_id}")
async def show_letter(
    caller: PageViewer, desk: Desk, request: Request, letter_id: LetterId
) -> Response:
    """One of them."""
    letter = await (await desk.downtimes.dead_letters()).get(letter_id)
    return pages_of(request).show(
        request,
        "dead_letter.html",
        caller,
        letter=letter,
        body=letter.as_dict()["body"],
        operates=caller.role.includes(Role.OPERATOR),
    )


@router.post("/dead-letters/{letter_id}/replay")
async def replay_letter(_: PageOperator, desk: Desk, letter_id: LetterId) -> Response:
    """Take it in again; it is shown again if it still cannot be used."""
    counts = await desk.downtimes.replay(letter_id)
    rejected = bool(counts.rejected)
    return to_page(f"/downtimes/dead-letters/{letter_id}" if rejected else "/downtimes/history")


def _further(asked: OpenForm | PastForm, cursor: str | None) -> str | None:
    """The query of the next page; None if this is the last."""
    if cursor is None:
        return None
    fields = asked.model_copy(update={"cursor": cursor}).model_dump(by_alias=True, mode="json")
    return urlencode({name: value for name, value in fields.items() if value})
