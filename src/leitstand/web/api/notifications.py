"""The API's queue of messages to people."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from leitstand.nearest import no_choice
from leitstand.notifications import CHANNELS, Status
from leitstand.web.api.answers import Cursor, Limit, document, page
from leitstand.web.api.described import body_of
from leitstand.web.api.notification_shapes import NotificationShape, RetriedShape
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Admin, Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.number_cursor import LARGEST, cut, number_in
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/notifications", tags=["notifications"])

NotificationId = Annotated[
    int, Path(ge=1, le=LARGEST, alias="id", description="The notification's number.")
]
InStatus = Annotated[Status | None, Query(description="Only those with this status.")]
OnChannel = Annotated[str | None, Query(description="Only those on this channel.")]


class NotificationRequest(BaseModel):
    """A notification as it is asked for; ``recipient`` is an address, a URL or a contact's name."""

    model_config = ConfigDict(extra="forbid")

    channel: str
    recipient: str = Field(min_length=1, max_length=500, pattern=r"\S")
    payload: dict[str, Any] = Field(default_factory=dict)


@router.get("", response_model=ItemsOf[NotificationShape])
async def list_notifications(
    _: Viewer,
    desk: Desk,
    status: InStatus = None,
    channel: OnChannel = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List notifications, newest first."""
    found = await desk.outbox.list_all(status, number_in(cursor), limit + 1, channel)
    return page(*cut(found, lambda each: each.id, limit))


@router.get("/{id}", response_model=NotificationShape)
async def show_notification(_: Viewer, desk: Desk, notification_id: NotificationId) -> Response:
    """Show a notification."""
    return document((await desk.outbox.get(notification_id)).as_dict())


@router.post(
    "",
    response_model=NotificationShape,
    status_code=HTTPStatus.ACCEPTED,
    openapi_extra=body_of(NotificationRequest),
)
async def send_notification(caller: Admin, desk: Desk, request: Request) -> Response:
    """Queue a message to any recipient; it is sent at once."""
    wanted = await read_model(request, NotificationRequest, "notification")
    if wanted.channel not in CHANNELS:
        raise no_choice("channel", wanted.channel, CHANNELS)
    number = await desk.outbox.enqueue(wanted.channel, wanted.recipient, wanted.payload)
    queued = await desk.outbox.get(number)
    return document(queued.as_dict(), HTTPStatus.ACCEPTED)


@router.post("/retry-failed", response_model=RetriedShape, status_code=HTTPStatus.ACCEPTED)
async def retry_all(_: Operator, desk: Desk, channel: OnChannel = None) -> Response:
    """Have all that have failed tried anew, as after an outage of the far side."""
    again = await desk.outbox.retry_failed(channel)
    return document({"retried": again}, HTTPStatus.ACCEPTED)


@router.post("/{id}/retry", response_model=NotificationShape, status_code=HTTPStatus.ACCEPTED)
async def retry_notification(_: Operator, desk: Desk, notification_id: NotificationId) -> Response:
    """Have one that has failed tried anew, under the same message id."""
    again = await desk.outbox.retry(notification_id)
    return document(again.as_dict(), HTTPStatus.ACCEPTED)
