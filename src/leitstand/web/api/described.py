"""Describes request bodies that endpoints read by themselves."""

from typing import Any

from pydantic import BaseModel

REFERENCE = "#/components/schemas/{model}"

BODIES: dict[str, type[BaseModel]] = {}
"""Models of bodies by name; ``openapi`` puts their schemas where references look for them."""


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """What a route's ``openapi_extra`` says of a body of this model."""
    BODIES[model.__name__] = model
    schema = {"$ref": REFERENCE.format(model=model.__name__)}
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}
