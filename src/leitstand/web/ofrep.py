"""Feature flags over HTTP, as any OpenFeature SDK asks for them (OFREP)."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from leitstand.flags import Flags, OfrepAnswer, evaluate_all, evaluate_one
from leitstand.web.request_body import read_body

BODY_LIMIT = 1 << 16
"""Bytes of a request."""


def ofrep_routes(flags: Flags, authorised: Callable[..., Any]) -> APIRouter:
    """The two paths of the protocol; the dependency ``authorised`` raises for whom may not ask."""
    router = APIRouter(prefix="/ofrep/v1/evaluate/flags", dependencies=[Depends(authorised)])

    @router.post("")
    async def all_flags(request: Request) -> Response:
        body = await read_body(request, BODY_LIMIT)
        return _response(await evaluate_all(flags, body, request.headers.get("if-none-match")))

    @router.post("/{key}")
    async def one_flag(request: Request, key: str) -> Response:
        return _response(await evaluate_one(flags, key, await read_body(request, BODY_LIMIT)))

    return router


def _response(answer: OfrepAnswer) -> Response:
    headers = {} if answer.tag is None else {"ETag": answer.tag}
    if answer.document is None:
        return Response(status_code=answer.status, headers=headers)
    return JSONResponse(answer.document, answer.status, headers)
