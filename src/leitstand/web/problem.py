"""Errors over HTTP: problem details of RFC 9457 with our code and remedy, without internals."""

from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from leitstand.access import ForbiddenError, UnauthenticatedError
from leitstand.errors import ConflictError, FailureClass, LeitstandError, NotFoundError, UsageError
from leitstand.events import PayloadTooLongError
from leitstand.events.webhooks import CallRefusedError
from leitstand.failed_attempts import TooManyFailuresError
from leitstand.masking import mask_url
from leitstand.modules import AuthenticationError, InactiveModuleError
from leitstand.web.security_headers import SECURITY_HEADERS

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

STATUSES: dict[type[LeitstandError], HTTPStatus] = {
    UnauthenticatedError: HTTPStatus.UNAUTHORIZED,
    AuthenticationError: HTTPStatus.UNAUTHORIZED,
    CallRefusedError: HTTPStatus.UNAUTHORIZED,
    ForbiddenError: HTTPStatus.FORBIDDEN,
    InactiveModuleError: HTTPStatus.FORBIDDEN,
    TooManyFailuresError: HTTPStatus.TOO_MANY_REQUESTS,
    PayloadTooLongError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UsageError: HTTPStatus.BAD_REQUEST,
    NotFoundError: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
}
"""What is the caller's to mend; the first that fits counts."""

SCHEMES: dict[type[LeitstandError], str] = {
    UnauthenticatedError: "Bearer",
    AuthenticationError: "Leitstand-Client",
    CallRefusedError: "Bearer",
}
"""What a caller who is not known could send."""


class ProblemError(Exception):
    """A request that is refused on purpose; ``detail`` says why in words for the caller."""

    def __init__(
        self, status: HTTPStatus, code: str, detail: str, remedy: str | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.remedy = remedy


def answer_with_problems(app: FastAPI) -> None:
    """Have every error of the application answered as a problem, to a browser as a page."""
    app.add_exception_handler(ProblemError, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(LeitstandError, _leitstand_error)
    app.add_exception_handler(Exception, _fault)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)  # noqa: S101 -- it is registered for these
    return _answer(request, error.status, error.code, error.detail, error.remedy)


async def _http_error(request: Request, error: Exception) -> Response:
    """What the router raises: no such path, no such method."""
    assert isinstance(error, HTTPException)  # noqa: S101 -- it is registered for these
    status = HTTPStatus(error.status_code)
    answer = _answer(request, status, status.name, status.description or status.phrase)
    answer.headers.update(error.headers or {})
    return answer


async def _invalid(request: Request, error: Exception) -> Response:
    """Parameters of a path or query that cannot be."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 -- it is registered for these
    wrong = [f"{_place(each['loc'])}: {each['msg']}" for each in error.errors()]
    remedy = "See /api/openapi.json for what each path takes."
    return _answer(request, HTTPStatus.BAD_REQUEST, "USAGE", "; ".join(wrong), remedy)


def _place(location: tuple[int | str, ...]) -> str:
    return " ".join(str(part) for part in location)


async def _leitstand_error(request: Request, error: Exception) -> Response:
    """What the domains raise; its detail stays in the log, as it may hold addresses."""
    assert isinstance(error, LeitstandError)  # noqa: S101 -- it is registered for these
    fits = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    status = next(fits, None) or _our_own_fault(error)
    answer = _answer(request, status, error.code, mask_url(error.message), error.remedy)
    if scheme := SCHEMES.get(type(error)):
        answer.headers["WWW-Authenticate"] = scheme
    if isinstance(error, TooManyFailuresError):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def _our_own_fault(error: LeitstandError) -> HTTPStatus:
    log.warning("a request could not be answered", code=error.code, error=error.message)
    passing = error.failure_class is FailureClass.TRANSIENT
    return HTTPStatus.SERVICE_UNAVAILABLE if passing else HTTPStatus.INTERNAL_SERVER_ERROR


async def _fault(request: Request, error: Exception) -> Response:
    """A fault of ours; the server logs its traceback, and nobody else sees it."""
    del error
    said = "the answer failed; see the server's log"
    return _answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL", said)


def _answer(
    request: Request, status: HTTPStatus, code: str, detail: str, remedy: str | None = None
) -> Response:
    document = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "code": code,
        "remedy": remedy,
    }
    if _is_for_a_browser(request):
        return _as_page(request, document)
    # A fault is answered outside of all middleware, so the headers are given here, too.
    return JSONResponse(document, status, SECURITY_HEADERS, MEDIA_TYPE)


def _is_for_a_browser(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not request.url.path.startswith("/api/")


def _as_page(request: Request, document: dict[str, Any]) -> Response:
    page: Response = request.app.state.pages.show(
        request, "problem.html", None, document["status"], problem=document
    )
    for name, value in SECURITY_HEADERS.items():
        page.headers.setdefault(name, value)
    return page
