"""The OpenFeature Remote Evaluation Protocol: what a request's body asks, what its answer says.

https://openfeature.dev/docs/reference/other-technologies/ofrep/openapi (version 0.2.0)
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from leitstand.flags.evaluation import Evaluation, Reason
from leitstand.flags.flags import Flags

LONGEST_TENANT = 1000
"""Characters of a targeting key; longer ones are refused."""


@dataclass(frozen=True)
class OfrepAnswer:
    """Status and document; ``tag`` is the ``ETag`` of a bulk evaluation."""

    status: HTTPStatus
    document: dict[str, Any] | None
    tag: str | None = None


class _RefusedError(Exception):
    """A request that cannot be answered: OFREP's code, and the details."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(details)
        self.document = {"errorCode": code, "errorDetails": details}


async def evaluate_one(flags: Flags, key: str, body: bytes) -> OfrepAnswer:
    """The answer for one flag; the context's ``targetingKey`` is the tenant."""
    try:
        tenant = _tenant(body)
    except _RefusedError as refused:
        return OfrepAnswer(HTTPStatus.BAD_REQUEST, {"key": key, **refused.document})
    evaluation = await flags.evaluate(key, tenant)
    return OfrepAnswer(_STATUSES.get(evaluation.reason, HTTPStatus.OK), _document(evaluation))


async def evaluate_all(flags: Flags, body: bytes, known_tag: str | None = None) -> OfrepAnswer:
    """The answer for all flags; 304 if it is the one that the caller has (``If-None-Match``)."""
    try:
        tenant = _tenant(body)
    except _RefusedError as refused:
        return OfrepAnswer(HTTPStatus.BAD_REQUEST, refused.document)
    keys = await flags.keys()
    if (
        keys is None
    ):  # no flags at all would be an answer, and take the place of what a client knows
        return OfrepAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, dict(_UNREADABLE))
    evaluations = [await flags.evaluate(key, tenant) for key in keys]
    document = {"flags": [_document(evaluation) for evaluation in evaluations]}
    tag = _tag(document["flags"])
    if known_tag == tag:
        return OfrepAnswer(HTTPStatus.NOT_MODIFIED, None, tag)
    return OfrepAnswer(HTTPStatus.OK, document, tag)


_STATUSES = {
    Reason.UNKNOWN: HTTPStatus.NOT_FOUND,
    Reason.ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
}

_UNREADABLE = {"errorCode": "GENERAL", "errorDetails": "the flags cannot be read at the moment"}


def _tenant(body: bytes) -> str | None:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise _RefusedError("PARSE_ERROR", "the body is no JSON") from None
    context = request.get("context", {}) if isinstance(request, dict) else None
    if not isinstance(context, dict):
        raise _RefusedError("INVALID_CONTEXT", "the context is no object")
    tenant = context.get("targetingKey")
    if tenant is not None and not (isinstance(tenant, str) and len(tenant) <= LONGEST_TENANT):
        raise _RefusedError(
            "INVALID_CONTEXT", f"targetingKey is no text of up to {LONGEST_TENANT} characters"
        )
    return tenant or None


def _document(evaluation: Evaluation) -> dict[str, Any]:
    if evaluation.reason is Reason.UNKNOWN:
        details = "there is no such flag"
        return {"key": evaluation.key, "errorCode": "FLAG_NOT_FOUND", "errorDetails": details}
    if evaluation.reason is Reason.ERROR:
        return {"key": evaluation.key, **_UNREADABLE}
    return {
        "key": evaluation.key,
        "value": evaluation.value,
        "variant": "on" if evaluation.value else "off",
        "reason": evaluation.reason.value,
        "metadata": {"stale": evaluation.stale},
    }


def _tag(flags: Sequence[dict[str, Any]]) -> str:
    return '"' + hashlib.sha256(json.dumps(flags).encode()).hexdigest()[:32] + '"'
