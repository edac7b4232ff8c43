"""The page of events: what happened, who listens, and the log tables that are watched."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response

from leitstand.access import Role
from leitstand.events import EventState
from leitstand.jobs import listening_jobs
from leitstand.json_document import to_json
from leitstand.nearest import chosen
from leitstand.web.controls import Desk
from leitstand.web.event_page import event_page
from leitstand.web.pages.facts import facts_of
from leitstand.web.pages.filtering import Filter
from leitstand.web.pages.guard import PageOperator, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/events", include_in_schema=False)

EventId = Annotated[int, Path(ge=1, le=2**63 - 1)]
STATES = [state.value for state in EventState]
SHOWN = 50
RESETS = 10


class EventFilter(Filter):
    """Which events the list shows."""

    name: str = ""
    state: str = ""


@router.get("")
async def list_events(
    caller: PageViewer, desk: Desk, request: Request, wanted: Annotated[EventFilter, Query()]
) -> Response:
    """Events, newest first; beside them who listens, and the log tables."""
    state = chosen("state", wanted.state, EventState) if wanted.state else None
    found, cursor = await event_page(desk, wanted.name or None, state, wanted.cursor or None, SHOWN)
    return pages_of(request).show(
        request,
        "events.html",
        caller,
        events=found,
        wanted=wanted,
        states=STATES,
        names=[entry.name for entry in desk.catalogue.entries],
        older=wanted.older(cursor),
        listeners=listening_jobs(await desk.jobs.list_all()),
        sources=await desk.detection.status(),
    )


@router.get("/{event_id}")
async def show_event(
    caller: PageViewer, desk: Desk, request: Request, event_id: EventId
) -> Response:
    """An event and its payload."""
    event = await desk.events.get(event_id)
    return pages_of(request).show(
        request,
        "event.html",
        caller,
        event=event,
        facts=facts_of(event.as_dict(), {"id", "name", "payload", "run"}),
        payload=to_json(event.payload),
    )


@router.get("/sources/{name}")
async def show_source(caller: PageViewer, desk: Desk, request: Request, name: str) -> Response:
    """When a log table was begun anew, and the button that does it."""
    return pages_of(request).show(
        request,
        "source.html",
        caller,
        source=name,
        resets=await desk.detection.resets(name, RESETS),
        operates=caller.role.includes(Role.OPERATOR),
    )


@router.post("/sources/{name}/reset")
async def reset_source(caller: PageOperator, desk: Desk, name: str) -> Response:
    """Forget how far it was read."""
    await desk.detection.reset(name, caller.name)
    return to_page(f"/events/sources/{quote(name)}")
