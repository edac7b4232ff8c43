"""The API's restore drills."""

from http import HTTPStatus

from fastapi import APIRouter, Response

from leitstand.archive import DrillKind
from leitstand.protection import DRILL
from leitstand.web.api.answers import Limit, document, page
from leitstand.web.api.shapes import DrillShape, ItemsOf, RunShape
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/drills", tags=["drills"])


@router.get("", response_model=ItemsOf[DrillShape])
async def list_drills(
    _: Viewer, desk: Desk, kind: DrillKind | None = None, limit: Limit = 50
) -> Response:
    """List the newest drills, on one page."""
    return page(await desk.drills.history(kind, limit), None)


@router.post("", response_model=RunShape, status_code=HTTPStatus.ACCEPTED)
async def run_drill(caller: Operator, desk: Desk) -> Response:
    """Queue a run of the self-protection job that drills the newest backup."""
    run = await desk.queue.request(DRILL, caller.name)
    return document(run.as_dict(), HTTPStatus.ACCEPTED)
