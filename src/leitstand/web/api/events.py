"""The API's events: what happened, what can happen, and which jobs wait for it."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leitstand.events import EventState, NewEvent
from leitstand.jobs import listening_jobs
from leitstand.web.api.answers import Cursor, Limit, document, page
from leitstand.web.api.described import body_of
from leitstand.web.api.event_shapes import CatalogueEntryShape, EventShape, ListeningShape
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.event_page import event_page
from leitstand.web.problem import ProblemError
from leitstand.web.request_body import read_document

router = APIRouter(prefix="/events", tags=["events"])

EventId = Annotated[int, Path(ge=1, le=2**63 - 1, alias="id", description="The event's number.")]
OfName = Annotated[str | None, Query(description="Only events of this name.")]
InState = Annotated[EventState | None, Query(description="Only events in this state.")]


class EmittedEvent(BaseModel):
    """An event that somebody emits; of those with one ``message_id`` the first is stored."""

    model_config = ConfigDict(extra="forbid")

    name: str
    payload: dict[str, Any] = Field(default_factory=dict)
    tenant: str = Field("main", min_length=1)
    message_id: str | None = Field(None, min_length=1, max_length=256, pattern=r"^[^\x00]+$")


@router.get("", response_model=ItemsOf[EventShape])
async def list_events(
    _: Viewer,
    desk: Desk,
    name: OfName = None,
    state: InState = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List events, newest first."""
    return page(*await event_page(desk, name, state, cursor, limit))


@router.get("/catalog", response_model=ItemsOf[CatalogueEntryShape])
async def list_catalogue(_: Viewer, desk: Desk) -> Response:
    """List the events that something here produces, on one page."""
    return page(desk.catalogue.entries, None)


@router.get("/listeners", response_model=ItemsOf[ListeningShape])
async def list_listeners(_: Viewer, desk: Desk) -> Response:
    """List the jobs that events start, on one page."""
    return page(listening_jobs(await desk.jobs.list_all()), None)


@router.get("/{id}", response_model=EventShape)
async def show_event(_: Viewer, desk: Desk, event_id: EventId) -> Response:
    """Show an event."""
    return document((await desk.events.get(event_id)).as_dict())


@router.post(
    "",
    response_model=EventShape,
    status_code=HTTPStatus.CREATED,
    openapi_extra=body_of(EmittedEvent),
)
async def emit_event(caller: Operator, desk: Desk, request: Request) -> Response:
    """Say that something happened; jobs that listen to it run."""
    given = _read(await read_document(request))
    event = NewEvent(
        given.name,
        f"api:{caller.name}",
        given.payload,
        tenant=given.tenant,
        message_id=given.message_id,
    )
    number, repeated = await desk.events.emit_once(event)
    status = HTTPStatus.OK if repeated else HTTPStatus.CREATED
    return document((await desk.events.get(number or 0)).as_dict(), status)


def _read(given: dict[str, Any]) -> EmittedEvent:
    try:
        return EmittedEvent.model_validate(given)
    except ValidationError as error:
        wrong = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        raise ProblemError(HTTPStatus.BAD_REQUEST, "USAGE", wrong) from None
