"""Sends browsers that are not logged in to the login page, and back to where they wanted to go."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request, Response
from fastapi.responses import RedirectResponse

from leitstand.access import Caller, Role, UnauthenticatedError
from leitstand.web.callers import SAFE_METHODS, RoleGuard
from leitstand.web.pages.rendering import pages_of


class LoginNeededError(Exception):
    """A page was asked for by a browser of which nobody knows who uses it."""


class PageGuard(RoleGuard):
    """As ``RoleGuard``, for pages."""

    async def __call__(self, request: Request) -> Caller:
        """Raise LoginNeededError, and what RoleGuard raises."""
        try:
            return await super().__call__(request)
        except UnauthenticatedError:
            if "authorization" in request.headers:
                raise
            raise LoginNeededError from None


PageViewer = Annotated[Caller, Depends(PageGuard(Role.VIEWER))]
PageOperator = Annotated[Caller, Depends(PageGuard(Role.OPERATOR))]
PageAdmin = Annotated[Caller, Depends(PageGuard(Role.ADMIN))]


async def to_login(request: Request, error: Exception) -> Response:
    """The answer to LoginNeededError.

    A browser that follows a link from elsewhere, as from a mail, leaves its cookie at home, since
    that is kept strictly to our own pages. So it is asked to come again by itself.
    """
    del error
    if request.method in SAFE_METHODS and request.headers.get("sec-fetch-site") == "cross-site":
        return pages_of(request).show(request, "again.html", None, target=_wanted(request))
    return to_page(f"/login?{urlencode({'next': _wanted(request)})}")


def to_page(path: str) -> RedirectResponse:
    """Have the browser go on to the path, by GET."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def own_path(path: str) -> str:
    """The path if it is one of this site, else that of the first page."""
    ours = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if ours and path.isprintable() else "/"


def _wanted(request: Request) -> str:
    if request.method not in SAFE_METHODS:
        return "/"
    query = f"?{request.url.query}" if request.url.query else ""
    return request.url.path + query
