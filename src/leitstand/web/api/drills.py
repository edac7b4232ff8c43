"""The API's restore drills."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response

from leitstand.archive import DrillKind
from leitstand.protection import DRILL
from leitstand.web.api.answers import Cursor, Limit, document, page
from leitstand.web.api.shapes import DrillShape, ItemsOf, RunShape
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.number_cursor import cut, number_in

router = APIRouter(prefix="/drills", tags=["drills"])

OfKind = Annotated[DrillKind | None, Query(description="Only drills of this kind.")]


@router.get("", response_model=ItemsOf[DrillShape])
async def list_drills(
    _: Viewer, desk: Desk, kind: OfKind = None, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List drills, newest first."""
    found = await desk.drills.history(kind, limit + 1, number_in(cursor))
    return page(*cut(found, lambda drill: drill.number or 0, limit))


@router.post("", response_model=RunShape, status_code=HTTPStatus.ACCEPTED)
async def run_drill(caller: Operator, desk: Desk) -> Response:
    """Queue a run of the self-protection job that drills the newest backup."""
    run = await desk.queue.request(DRILL, caller.name)
    return document(run.as_dict(), HTTPStatus.ACCEPTED)
