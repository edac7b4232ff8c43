"""The API's contacts: who can be written to by name, and who hears of how runs end."""

from http import HTTPStatus

from fastapi import APIRouter, Response

from leitstand.web.api.answers import Cursor, Limit, document, page, page_by_name
from leitstand.web.api.notification_shapes import ContactShape, NotificationShape, NotifyRuleShape
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk

router = APIRouter(tags=["notifications"])


@router.get("/contacts", response_model=ItemsOf[ContactShape])
async def list_contacts(
    _: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List who can be written to by name, and how; secrets are masked."""
    return page_by_name(desk.contacts.entries(), lambda entry: entry.name, cursor, limit)


@router.post(
    "/contacts/{name}/test",
    response_model=ItemsOf[NotificationShape],
    status_code=HTTPStatus.ACCEPTED,
)
async def send_test(caller: Operator, desk: Desk, name: str) -> Response:
    """Queue a test message to each whom the name reaches; what comes of them is listed there."""
    numbers = await desk.outbox.enqueue_all(desk.contacts.tests(name, caller.name))
    queued = [await desk.outbox.get(number) for number in numbers]
    return document(
        {"items": [each.as_dict() for each in queued], "next": None}, HTTPStatus.ACCEPTED
    )


@router.get("/notify-rules", response_model=ItemsOf[NotifyRuleShape])
async def list_notify_rules(_: Viewer, desk: Desk) -> Response:
    """List who hears of how runs end, on one page; the configuration file says so."""
    return page(desk.notify_rules, None)
