"""The HTTP interface: health, metrics, the status page. Translation only."""

import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined

from leitstand import __version__
from leitstand.display import age, moment, seconds, size
from leitstand.health import Readiness
from leitstand.metrics import OwnMetrics
from leitstand.web.status import Status


@dataclass(frozen=True)
class Site:
    """What the pages are made of."""

    readiness: Readiness
    metrics: OwnMetrics
    status: Callable[[], Awaitable[Status]]


def only_from_this_machine(request: Request) -> None:
    """Refuse callers from other machines: these pages ask for no credentials."""
    host = request.client.host if request.client else ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise HTTPException(403, "this page is shown to callers on this machine only")


Local = Annotated[None, Depends(only_from_this_machine)]


def build_site(site: Site) -> FastAPI:
    """The application; ``/livez`` and ``/readyz`` answer everybody, the rest this machine only."""
    app = FastAPI(
        title="Leitstand", version=__version__, docs_url=None, redoc_url=None, openapi_url=None
    )
    page = _templates().get_template("status.html")

    @app.get("/livez")
    async def livez() -> JSONResponse:
        return JSONResponse({"status": "alive"})

    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        report = await site.readiness.report()
        return JSONResponse(report.as_dict(), 200 if report.ready else 503)

    @app.get("/metrics")
    async def metrics(_: Local) -> Response:
        return Response(await site.metrics.page(), media_type=site.metrics.content_type)

    @app.get("/")
    async def status(_: Local) -> HTMLResponse:
        return HTMLResponse(page.render(status=await site.status(), version=__version__))

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
