"""Errors over HTTP: problem details of RFC 9457 with our code and remedy, without internals."""

from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from leitstand.errors import (
    ConflictError,
    LeitstandError,
    NotFoundError,
    UnavailableError,
    UsageError,
)
from leitstand.masking import mask_url
from leitstand.modules import AuthenticationError, TooManyFailuresError
from leitstand.web.security_headers import SECURITY_HEADERS

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

STATUSES: dict[type[LeitstandError], HTTPStatus] = {
    AuthenticationError: HTTPStatus.UNAUTHORIZED,
    TooManyFailuresError: HTTPStatus.TOO_MANY_REQUESTS,
    UsageError: HTTPStatus.BAD_REQUEST,
    NotFoundError: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
    UnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The first that fits counts; any other error is 500."""

HEADERS = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Leitstand-Client"},
    HTTPStatus.TOO_MANY_REQUESTS: {"Retry-After": "60"},
}


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
    """Have every error of the application answered as a problem."""
    app.add_exception_handler(ProblemError, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(LeitstandError, _leitstand_error)
    app.add_exception_handler(Exception, _fault)


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ProblemError)  # noqa: S101 -- it is registered for these
    return _answer(error.status, error.code, error.detail, error.remedy)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    """What the router raises: no such path, no such method."""
    assert isinstance(error, HTTPException)  # noqa: S101 -- it is registered for these
    status = HTTPStatus(error.status_code)
    answer = _answer(status, status.name, status.description or status.phrase)
    answer.headers.update(error.headers or {})
    return answer


async def _leitstand_error(_: Request, error: Exception) -> JSONResponse:
    """What the domains raise; its detail stays in the log, as it may hold addresses."""
    assert isinstance(error, LeitstandError)  # noqa: S101 -- it is registered for these
    fits = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    status = next(fits, HTTPStatus.INTERNAL_SERVER_ERROR)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("a request failed", code=error.code, error=error.message)
    answer = _answer(status, error.code, mask_url(error.message), error.remedy)
    answer.headers.update(HEADERS.get(status, {}))
    return answer


async def _fault(_: Request, error: Exception) -> JSONResponse:
    """A fault of ours; the server logs its traceback, and nobody else sees it."""
    del error
    return _answer(
        HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL", "the answer failed; see the server's log"
    )


def _answer(status: HTTPStatus, code: str, detail: str, remedy: str | None = None) -> JSONResponse:
    document = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "code": code,
        "remedy": remedy,
    }
    # A fault is answered outside of all middleware, so the headers are given here, too.
    return JSONResponse(document, status, SECURITY_HEADERS, MEDIA_TYPE)
