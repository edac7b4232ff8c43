"""The API's remote agents."""

from fastapi import APIRouter, Response

from leitstand.web.api.answers import page
from leitstand.web.api.shapes import AgentShape, ItemsOf
from leitstand.web.callers import Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/agents", tags=["agents"])


@router.get("", response_model=ItemsOf[AgentShape])
async def list_agents(_: Viewer, desk: Desk) -> Response:
    """List the remote agents that are connected, on one page."""
    return page(await desk.agents.list_all(), None)
