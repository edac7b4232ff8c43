"""The HTTP interface: health, metrics, the status page, the agents' API. Translation only."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined

from leitstand import __version__
from leitstand.display import age, moment, seconds, size
from leitstand.health import Readiness
from leitstand.metrics import OwnMetrics
from leitstand.web.callers import Local
from leitstand.web.problem import answer_with_problems
from leitstand.web.security_headers import SecurityHeaders, policy_for
from leitstand.web.status import Status


@dataclass(frozen=True)
class Site:
    """What the pages are made of; ``api`` brings its own way to ask who calls."""

    readiness: Readiness
    metrics: OwnMetrics
    status: Callable[[], Awaitable[Status]]
    listen_host: str = ""
    """The host of ``server.listen``: a name under which the pages may be asked for."""
    api: APIRouter | None = None


READ = ["GET", "HEAD"]
"""HEAD answers as GET does; the server leaves the body out."""


def build_site(site: Site) -> FastAPI:
    """The application; ``/livez`` and ``/readyz`` answer everybody, the rest this machine only.

    Every error is a problem of RFC 9457, and every answer has headers that keep browsers strict.
    """
    app = FastAPI(
        title="Leitstand",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.listen_host = site.listen_host
    app.add_middleware(SecurityHeaders)
    answer_with_problems(app)
    if site.api is not None:
        app.include_router(site.api)
    page = _templates().get_template("status.html")

    @app.api_route("/livez", methods=READ)
    async def livez() -> JSONResponse:
        return JSONResponse({"status": "alive"})

    @app.api_route("/readyz", methods=READ)
    async def readyz() -> JSONResponse:
        report = await site.readiness.report()
        return JSONResponse(report.as_dict(), 200 if report.ready else 503)

    @app.api_route("/metrics", methods=READ)
    async def metrics(_: Local) -> Response:
        return Response(await site.metrics.page(), media_type=site.metrics.content_type)

    @app.api_route("/", methods=READ)
    async def status(_: Local) -> HTMLResponse:
        text = page.render(status=await site.status(), version=__version__)
        return HTMLResponse(text, headers={"Content-Security-Policy": policy_for(text)})

    return app


def _templates() -> Environment:
    folder = files("leitstand.web") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(age=age, moment=moment, seconds=seconds, size=size)
    return environment
