"""The page of messages to people, and what its buttons do."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Request, Response

from leitstand.access import Role
from leitstand.nearest import chosen
from leitstand.notifications import Status
from leitstand.web.controls import Desk
from leitstand.web.number_cursor import LARGEST, cut, number_in
from leitstand.web.pages.guard import PageOperator, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/notifications", include_in_schema=False)

Number = Annotated[int, Path(ge=1, le=LARGEST)]
STATUSES = [status.value for status in Status]
SHOWN = 50


@router.get("")
async def list_notifications(
    caller: PageViewer, desk: Desk, request: Request, status: str = "", cursor: str = ""
) -> Response:
    """Messages, newest first, and who can be written to by name."""
    wanted = chosen("status", status, Status) if status else None
    found = await desk.outbox.list_all(wanted, number_in(cursor), SHOWN + 1)
    shown, following = cut(found, lambda each: each.id, SHOWN)
    return pages_of(request).show(
        request,
        "notifications.html",
        caller,
        notifications=shown,
        status=status,
        statuses=STATUSES,
        older=following and urlencode({"status": status, "cursor": following}),
        contacts=desk.contacts.entries(),
        notify_rules=[rule.as_dict() for rule in desk.notify_rules],
        operates=caller.role.includes(Role.OPERATOR),
    )


@router.post("/{number}/retry")
async def retry(_: PageOperator, desk: Desk, number: Number) -> Response:
    """Have one that has failed tried anew."""
    await desk.outbox.retry(number)
    return to_page("/notifications")


@router.post("/retry-failed")
async def retry_all(_: PageOperator, desk: Desk) -> Response:
    """Have all that have failed tried anew."""
    await desk.outbox.retry_failed()
    return to_page("/notifications")


@router.post("/test/{name}")
async def send_test(caller: PageOperator, desk: Desk, name: str) -> Response:
    """Queue a test message to each whom the name reaches."""
    await desk.outbox.enqueue_all(desk.contacts.tests(name, caller.name))
    return to_page("/notifications")
