"""Logging in by a link or a token, and out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from leitstand.access import Gate, UnauthenticatedError
from leitstand.failed_attempts import TooManyFailuresError
from leitstand.web.callers import COOKIE, address_of, require_same_origin
from leitstand.web.form import read_form
from leitstand.web.pages.guard import own_path, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(include_in_schema=False)


def gate_of(request: Request) -> Gate:
    """The application's gate."""
    gate: Gate = request.app.state.gate
    return gate


TheGate = Annotated[Gate, Depends(gate_of)]


@router.api_route("/login", methods=["GET", "HEAD"])
async def login_page(
    request: Request, wanted: Annotated[str, Query(alias="next")] = "/"
) -> Response:
    """The page that takes a token, and says how to get in without one."""
    return _page(request, wanted)


@router.post("/login")
async def log_in(request: Request, gate: TheGate) -> Response:
    """Begin a session by a token."""
    require_same_origin(request.headers)
    form = await read_form(request)
    token, wanted = form.get("token", ""), form.get("next", "")
    try:
        session = await gate.session_by_token(token.encode(), address_of(request))
    except (UnauthenticatedError, TooManyFailuresError) as error:
        return _page(request, wanted, error.message, 403)
    return _logged_in(request, gate, session, wanted)


@router.get("/login/{link}")
async def log_in_by_link(request: Request, gate: TheGate, link: str) -> Response:
    """Begin a session by a link, which works once.

    A browser that has fetched it ahead of its user, and so has used it up, is let in by its cookie.
    """
    try:
        session = await gate.session_by_link(link.encode(), address_of(request))
    except (UnauthenticatedError, TooManyFailuresError) as error:
        if COOKIE in request.cookies:
            return to_page("/")
        used = "This link was used already, or its time is over."
        return _page(request, "/", used if isinstance(error, UnauthenticatedError) else str(error))
    return _logged_in(request, gate, session, "/")


@router.post("/logout")
async def log_out(request: Request, gate: TheGate) -> Response:
    """End the session."""
    require_same_origin(request.headers)
    await gate.end_session(request.cookies.get(COOKIE, "").encode("utf-8", "surrogateescape"))
    answer = to_page("/login")
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _page(request: Request, wanted: str, problem: str | None = None, status: int = 200) -> Response:
    shown = {"next": own_path(wanted), "problem": problem}
    return pages_of(request).show(request, "login.html", None, status, **shown)


def _logged_in(request: Request, gate: Gate, session: str, wanted: str) -> Response:
    answer = to_page(own_path(wanted))
    answer.set_cookie(
        COOKIE,
        session,
        max_age=int(gate.lifetime),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer
