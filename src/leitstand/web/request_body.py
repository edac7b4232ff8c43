"""Reads the bodies of requests, of which none is longer than makes sense."""

import json
from http import HTTPStatus
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from leitstand.web.problem import ProblemError

DOCUMENT_LIMIT = 1 << 20
"""Bytes of a JSON document."""


async def read_body(request: Request, limit: int = DOCUMENT_LIMIT) -> bytes:
    """The whole body; raises ProblemError as soon as it is longer than ``limit`` bytes.

    One that says so itself is not read at all.
    """
    declared = request.headers.get("content-length", "")
    _refuse_above(limit, int(declared[:20]) if declared.isdecimal() else 0)
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            _refuse_above(limit, len(body))
    except ClientDisconnect:  # the answer reaches nobody; that is no fault of ours to log
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, "BODY_INCOMPLETE", "the connection ended within the body"
        ) from None
    return bytes(body)


def _refuse_above(limit: int, length: int) -> None:
    if length > limit:
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "BODY_TOO_LARGE",
            f"the body is longer than {limit} bytes",
        )


async def read_document(request: Request) -> dict[str, Any]:
    """The body as a JSON object; none is an empty one. Raises ProblemError."""
    body = await read_body(request)
    try:
        document = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "USAGE",
            "the body is no JSON object",
            "Send one, in UTF-8; /api/openapi.json says what it may hold.",
        )
    return document
