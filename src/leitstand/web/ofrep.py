"""Feature flags over HTTP, as any OpenFeature SDK asks for them (OFREP)."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from leitstand.flags import OfrepAnswer, evaluate_all, evaluate_one
from leitstand.web.callers import Viewer
from leitstand.web.controls import Desk
from leitstand.web.request_body import read_body

BODY_LIMIT = 1 << 16
"""Bytes of a request."""


def ofrep_routes() -> APIRouter:
    """The two paths of the protocol, for whoever may look."""
    router = APIRouter(prefix="/ofrep/v1/evaluate/flags", include_in_schema=False)

    @router.post("")
    async def all_flags(_: Viewer, desk: Desk, request: Request) -> Response:
        body = await read_body(request, BODY_LIMIT)
        known = request.headers.get("if-none-match")
        return _response(await evaluate_all(desk.flags, body, known))

    @router.post("/{key}")
    async def one_flag(_: Viewer, desk: Desk, request: Request, key: str) -> Response:
        body = await read_body(request, BODY_LIMIT)
        return _response(await evaluate_one(desk.flags, key, body))

    return router


def _response(answer: OfrepAnswer) -> Response:
    headers = {} if answer.tag is None else {"ETag": answer.tag}
    if answer.document is None:
        return Response(status_code=answer.status, headers=headers)
    return JSONResponse(answer.document, answer.status, headers)
