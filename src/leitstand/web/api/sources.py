"""The API's sources of events: log tables, and how far they have been read."""

from fastapi import APIRouter, Response

from leitstand.web.api.answers import Limit, document, page
from leitstand.web.api.event_shapes import NewEpochShape, ResetShape, SourceStatusShape
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/sources", tags=["events"])


@router.get("", response_model=ItemsOf[SourceStatusShape])
async def list_sources(_: Viewer, desk: Desk) -> Response:
    """List the log tables that were ever read, on one page."""
    return page(await desk.detection.status(), None)


@router.get("/{name}/resets", response_model=ItemsOf[ResetShape])
async def list_resets(_: Viewer, desk: Desk, name: str, limit: Limit = 50) -> Response:
    """List when a log table was begun anew and by whom, newest first, on one page."""
    return page(await desk.detection.resets(name, limit), None)


@router.post("/{name}/reset", response_model=NewEpochShape)
async def reset_source(caller: Operator, desk: Desk, name: str) -> Response:
    """Forget how far a log table was read; what is there at the next run starts nothing."""
    epoch = await desk.detection.reset(name, caller.name)
    return document({"source": name, "epoch": epoch})
