"""The API's feature flags: their management. SDKs ask what they are by OFREP."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from leitstand.flags import FlagChange, FlagVersion
from leitstand.web.api.answers import Cursor, Limit, document, page, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.flag_shapes import FlagAnswerShape, FlagShape
from leitstand.web.api.if_match import IfMatch, version_in
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Admin, Viewer
from leitstand.web.controls import Desk
from leitstand.web.number_cursor import cut, number_in
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/flags", tags=["flags"])

ForTenant = Annotated[str | None, Query(description="Without it: whether it is on for all.")]


class FlagSpec(BaseModel):
    """A flag as it is to be; what is left out is off."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    rollout_percentage: int = Field(default=0, ge=0, le=100)
    target_tenants: frozenset[str] = frozenset()


@router.get("", response_model=ItemsOf[FlagShape])
async def list_flags(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List flags by key."""
    flags = await desk.flag_ledger.list_versions()
    return page_by_name(flags, lambda each: each.flag.key, cursor, limit)


@router.get("/{key}", response_model=FlagShape)
async def show_flag(_: Viewer, desk: Desk, key: str) -> Response:
    """Show a flag; `ETag` is for `If-Match`."""
    return _shown(await desk.flag_ledger.find(key))


@router.get("/{key}/evaluation", response_model=FlagAnswerShape)
async def evaluate_flag(_: Viewer, desk: Desk, key: str, tenant: ForTenant = None) -> Response:
    """Say what the flag is for a tenant, and why."""
    return document((await desk.flags.evaluate(key, tenant)).as_dict())


@router.get("/{key}/history", response_model=ItemsOf[FlagShape])
async def show_history(
    _: Viewer, desk: Desk, key: str, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List the versions of a flag, newest first, also of one that was deleted."""
    found = await desk.flag_ledger.history(key, number_in(cursor), limit + 1)
    return page(*cut(found, lambda each: each.version, limit))


@router.put("/{key}", response_model=FlagShape, openapi_extra=body_of(FlagSpec))
async def set_flag(
    caller: Admin, desk: Desk, key: str, request: Request, if_match: IfMatch = None
) -> Response:
    """Make the flag, or replace it; 409 if it is not in the version that `If-Match` names."""
    spec = await read_model(request, FlagSpec, "flag")
    change = FlagChange(spec.enabled, spec.rollout_percentage, spec.target_tenants)
    changed = await desk.flag_ledger.change(
        key, change, changed_by=caller.name, expected=version_in(if_match)
    )
    desk.flags.invalidate()
    return _shown(changed)


@router.delete("/{key}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
async def delete_flag(caller: Admin, desk: Desk, key: str, if_match: IfMatch = None) -> Response:
    """Delete the flag, which is off for all then; its history stays."""
    await desk.flag_ledger.delete(key, changed_by=caller.name, expected=version_in(if_match))
    desk.flags.invalidate()
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _shown(flag: FlagVersion) -> Response:
    answer = document(flag.as_dict())
    answer.headers["ETag"] = f'"{flag.version}"'
    return answer
