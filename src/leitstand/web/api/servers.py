"""The API's control servers."""

from http import HTTPStatus

from fastapi import APIRouter, Response

from leitstand.web.api.answers import document, page
from leitstand.web.api.shapes import DrainingShape, ItemsOf, ServerShape
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/servers", tags=["servers"])


@router.get("", response_model=ItemsOf[ServerShape])
async def list_servers(_: Viewer, desk: Desk) -> Response:
    """List the control servers that were seen within a day, on one page."""
    return page(await desk.servers.list_all(), None)


@router.post("/{instance}/drain", response_model=DrainingShape, status_code=HTTPStatus.ACCEPTED)
async def drain_server(_: Operator, desk: Desk, instance: str) -> Response:
    """Have a server claim and start nothing more; what it runs goes on."""
    await desk.servers.drain(instance)
    running = [s.running for s in await desk.servers.list_all() if s.instance == instance]
    return document({"draining": [instance], "running": sum(running)}, HTTPStatus.ACCEPTED)
