"""Reads the bodies of requests as models, with nothing in them that no database keeps."""

from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from leitstand.errors import UsageError
from leitstand.execution import validation_sentence
from leitstand.web.problem import ProblemError
from leitstand.web.request_body import read_document

B = TypeVar("B", bound=BaseModel)


async def read_model(request: Request, model: type[B], thing: str) -> B:
    """The body as the model; raises ProblemError, and UsageError for what is no ``thing``."""
    try:
        return model.model_validate(await read_storable(request))
    except ValidationError as error:
        raise UsageError(f"that is no {thing}: {validation_sentence(error)}") from None


async def read_storable(request: Request) -> dict[str, Any]:
    """As ``read_document``; raises ProblemError for NUL characters, too."""
    document = await read_document(request)
    if _holds_nul(document):
        raise ProblemError(HTTPStatus.BAD_REQUEST, "USAGE", "the body holds a NUL character")
    return document


def _holds_nul(value: object) -> bool:
    match value:
        case str():
            return "\0" in value
        case dict():
            return any(_holds_nul(each) for pair in value.items() for each in pair)
        case list():
            return any(_holds_nul(each) for each in value)
    return False
