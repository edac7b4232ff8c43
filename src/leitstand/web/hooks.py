"""Webhooks in: what other programs POST to ``/hooks/NAME``."""

import asyncio
import re
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from leitstand.events.webhooks import Call
from leitstand.web.api.answers import document
from leitstand.web.callers import address_of
from leitstand.web.controls import Desk
from leitstand.web.problem import ProblemError
from leitstand.web.request_body import read_body

BODY_LIMIT = 1 << 20
"""Bytes; a long group of alerts is cut to what a payload may hold, all others are refused then."""

BODY_PATIENCE = 30.0
"""Seconds that the body may take: whoever may call may be anybody, and connections are limited."""

_JSON = re.compile(
    r'application/(json|[\w.+-]+\+json)\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?', re.IGNORECASE
)


def hook_routes() -> APIRouter:
    """The path that hooks are called by; who calls is proven by signature or token of the hook."""
    router = APIRouter(include_in_schema=False)

    @router.post("/hooks/{name}")
    async def take(desk: Desk, request: Request, name: str) -> Response:
        address = address_of(request)
        with desk.hooks.counting(name):
            hook = desk.hooks.hook(name, address)
            require_json(request.headers.get("content-type", ""))
            body = await _read(request)
            taken = await desk.hooks.take(hook, _call(request), body, address)
        return document(taken.as_dict(), HTTPStatus.ACCEPTED)

    return router


def require_json(content_type: str) -> None:
    """Raise ProblemError for a body that says of itself that it is something else."""
    if _JSON.fullmatch(content_type.strip()) is None:
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            "the body is no JSON in UTF-8",
            "Send `Content-Type: application/json`.",
        )


async def _read(request: Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_PATIENCE):
            return await read_body(request, BODY_LIMIT)
    except TimeoutError:
        raise ProblemError(
            HTTPStatus.REQUEST_TIMEOUT,
            "BODY_TOO_SLOW",
            f"the body has taken more than {BODY_PATIENCE:g} s",
        ) from None


def _call(request: Request) -> Call:
    headers = request.headers
    return Call(
        headers.get("webhook-id"),
        headers.get("webhook-timestamp"),
        headers.get("webhook-signature"),
        headers.get("authorization"),
    )
