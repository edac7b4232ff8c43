"""Describes the API as OpenAPI 3.1: paths, roles, shapes, bodies, problems."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic.json_schema import models_json_schema

from leitstand import __version__
from leitstand.access import Role
from leitstand.web.api.all_routes import api_routes
from leitstand.web.api.described import BODIES, REFERENCE
from leitstand.web.api.shapes import ProblemShape
from leitstand.web.callers import RoleGuard, Viewer
from leitstand.web.problem import MEDIA_TYPE

DESCRIPTION = (
    "Times are RFC 3339 in UTC, durations seconds, sizes bytes, unknown values null. Fields may be "
    "added. Lists come in pages: ask again with `cursor` = `next` until that is null."
)


def openapi_route() -> APIRouter:
    """The path that answers with the description."""
    router = APIRouter()

    @router.get("/api/openapi.json", include_in_schema=False)
    async def openapi(_: Viewer) -> Response:
        return Response(_text(), media_type="application/json")

    return router


@lru_cache(1)
def _text() -> str:
    return json.dumps(describe())


def describe() -> dict[str, Any]:
    """The whole description."""
    app = FastAPI(title="Leitstand", version=__version__)
    app.include_router(api_routes())
    document = get_openapi(
        title="Leitstand",
        version=__version__,
        openapi_version="3.1.0",
        description=DESCRIPTION,
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    components.setdefault("schemas", {}).update(_schemas())
    for operation in operations(app):
        _complete(document["paths"][operation.path][operation.method.lower()], operation)
    return document


@dataclass(frozen=True)
class Operation:
    """What can be asked of a path, and the role that it takes; None if it asks for none."""

    method: str
    path: str
    role: Role | None


def operations(app: FastAPI) -> Iterator[Operation]:
    """All operations of the application's endpoints; HEAD is GET without a body."""
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if isinstance(route, APIRoute):
            for method in (context.methods or set()) - {"HEAD"}:
                yield Operation(method, context.path_format or "", _role_for(route))


def _role_for(route: APIRoute) -> Role | None:
    calls = [dependency.call for dependency in route.dependant.dependencies]
    return next((call.role for call in calls if isinstance(call, RoleGuard)), None)


def _schemas() -> dict[str, Any]:
    models = [(model, "validation") for model in (*BODIES.values(), ProblemShape)]
    _, schemas = models_json_schema(models, ref_template=REFERENCE)  # type: ignore[arg-type]
    definitions: dict[str, Any] = schemas["$defs"]
    return definitions


def _complete(described: dict[str, Any], operation: Operation) -> None:
    """Say who may call it, and how errors look; a validation error is a problem like any other."""
    described["security"] = [{"token": []}]
    described["x-role"] = operation.role
    problem = {"schema": {"$ref": REFERENCE.format(model=ProblemShape.__name__)}}
    described["responses"].pop("422", None)
    described["responses"]["default"] = {
        "description": "What is wrong, and what to do",
        "content": {MEDIA_TYPE: problem},
    }
