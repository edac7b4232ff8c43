"""The API's health: the same as ``/readyz``, as a document that is always there."""

from fastapi import APIRouter, Request, Response

from leitstand.health import Readiness
from leitstand.web.api.answers import document
from leitstand.web.api.shapes import HealthShape
from leitstand.web.callers import Viewer

router = APIRouter(prefix="/health", tags=["health"])


@router.get("", response_model=HealthShape)
async def show_health(_: Viewer, request: Request) -> Response:
    """Say whether this server can do its work now, check by check."""
    readiness: Readiness = request.app.state.readiness
    return document((await readiness.report()).as_dict())
