"""Puts the pages together."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response

from leitstand.web.pages import (
    alerts,
    downtimes,
    events,
    jobs,
    login,
    modules,
    notifications,
    runs,
    settings,
)
from leitstand.web.pages.guard import PageViewer
from leitstand.web.pages.rendering import pages_of
from leitstand.web.status import Status


def page_routes(gather: Callable[[], Awaitable[Status]]) -> APIRouter:
    """All pages; ``gather`` takes the look that the status page shows."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def status(caller: PageViewer, request: Request) -> Response:
        """One look at everything."""
        return pages_of(request).show(request, "status.html", caller, status=await gather())

    for part in (
        login,
        runs,
        jobs,
        alerts,
        notifications,
        events,
        downtimes,
        modules,
        settings,
    ):
        router.include_router(part.router)
    return router
