"""The HTTP interface: health, metrics, the API, the agents' API, the pages. Translation only."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from leitstand import __version__
from leitstand.access import Gate
from leitstand.health import Readiness
from leitstand.live import Hub, MessageLedger
from leitstand.metrics import Exposition
from leitstand.web import live_socket
from leitstand.web.api import api_routes, openapi_route
from leitstand.web.callers import Scraper
from leitstand.web.controls import Controls
from leitstand.web.hooks import hook_routes
from leitstand.web.ofrep import ofrep_routes
from leitstand.web.pages import Pages, page_routes
from leitstand.web.pages.guard import LoginNeededError, to_login
from leitstand.web.problem import answer_with_problems
from leitstand.web.readable_address import require_readable_address
from leitstand.web.security_headers import SecurityHeaders
from leitstand.web.status import Status


class ShowsMetrics(Protocol):
    """What ``/metrics`` answers with."""

    async def exposition(self, accept: str = "") -> Exposition:
        """The page, in the format that the header ``Accept`` asks for."""


@dataclass(frozen=True)
class Site:
    """What the pages and the API are made of; ``agents`` brings its own way to ask who calls."""

    readiness: Readiness
    metrics: ShowsMetrics
    status: Callable[[], Awaitable[Status]]
    gate: Gate
    controls: Controls
    hub: Hub
    messages: MessageLedger
    listen_host: str = ""
    """The host of ``server.listen``: a name under which the metrics may be asked for."""
    metrics_open: bool = False
    """Whether everybody may have the metrics."""
    agents: APIRouter | None = None


READ = ["GET", "HEAD"]
"""HEAD answers as GET does; the server leaves the body out."""


def build_site(site: Site) -> FastAPI:
    """The application; but for health, and metrics on this machine, it asks who is there.

    Every error is a problem of RFC 9457, and every answer has headers that keep browsers strict.
    """
    app = FastAPI(
        title="Leitstand",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(require_readable_address)],
    )
    _hand_in(app, site)
    app.add_middleware(SecurityHeaders)
    answer_with_problems(app)
    app.add_exception_handler(LoginNeededError, to_login)
    _answer_machines(app, site)
    if site.agents is not None:
        app.include_router(site.agents)
    app.include_router(api_routes())
    app.include_router(openapi_route())
    app.include_router(live_socket.router)
    app.include_router(ofrep_routes())
    app.include_router(hook_routes())
    app.include_router(page_routes(site.status))
    return app


def _hand_in(app: FastAPI, site: Site) -> None:
    """Give endpoints, through ``request.app.state``, what they work with."""
    app.state.gate = site.gate
    app.state.controls = site.controls
    app.state.readiness = site.readiness
    app.state.hub = site.hub
    app.state.messages = site.messages
    app.state.pages = Pages()
    app.state.listen_host = site.listen_host
    app.state.metrics_open = site.metrics_open


def _answer_machines(app: FastAPI, site: Site) -> None:
    @app.api_route("/livez", methods=READ)
    async def livez() -> JSONResponse:
        return JSONResponse({"status": "alive"})

    @app.api_route("/readyz", methods=READ)
    async def readyz() -> JSONResponse:
        report = await site.readiness.report()
        return JSONResponse(report.as_dict(), 200 if report.ready else 503)

    @app.api_route("/metrics", methods=READ)
    async def metrics(_: Scraper, request: Request) -> Response:
        page = await site.metrics.exposition(request.headers.get("accept", ""))
        return Response(page.body, media_type=page.media_type)
