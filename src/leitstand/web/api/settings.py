"""The API's settings: values that change while Leitstand runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from leitstand.configuration import GLOBAL, Expected, Setting
from leitstand.web.api.answers import Cursor, Limit, document, page, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.if_match import IfMatch, tag_in
from leitstand.web.api.shapes import ItemsOf, SettingShape
from leitstand.web.callers import Admin, Viewer
from leitstand.web.controls import Desk
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/settings", tags=["settings"])

Scope = Annotated[str, Query(description="`global` or the slug of a tenant.")]


class SettingSpec(BaseModel):
    """A value as it is to be."""

    model_config = ConfigDict(extra="forbid")

    value: Any


@router.get("", response_model=ItemsOf[SettingShape])
async def list_settings(
    _: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List current values by key and scope."""
    settings = await desk.settings.list_all()
    return page_by_name(settings, lambda each: f"{each.key} {each.scope}", cursor, limit)


@router.get("/{key:path}/resolved", response_model=SettingShape)
async def resolve_setting(_: Viewer, desk: Desk, key: str, tenant: str | None = None) -> Response:
    """Show the value that holds for a tenant: its own, or else the global one."""
    return _shown(await desk.configuration.resolve(key, tenant))


@router.get("/{key:path}/history", response_model=ItemsOf[SettingShape])
async def show_history(_: Viewer, desk: Desk, key: str, scope: Scope = GLOBAL) -> Response:
    """List all versions of a value on one page, the oldest first."""
    return page(await desk.settings.history(key, scope), None)


@router.get("/{key:path}", response_model=SettingShape)
async def show_setting(_: Viewer, desk: Desk, key: str, scope: Scope = GLOBAL) -> Response:
    """Show the value in exactly one scope; `ETag` is for `If-Match`."""
    return _shown(await desk.configuration.get(key, scope))


@router.put("/{key:path}", response_model=SettingShape, openapi_extra=body_of(SettingSpec))
async def set_value(  # noqa: PLR0913, PLR0917 -- a parameter is one of the request
    caller: Admin,
    desk: Desk,
    key: str,
    request: Request,
    scope: Scope = GLOBAL,
    if_match: IfMatch = None,
) -> Response:
    """Set a value; 409 if it is not, or no longer, in the version that `If-Match` names."""
    spec = await read_model(request, SettingSpec, "value")
    tag = tag_in(if_match)
    expected = None if tag is None else Expected.from_tag(tag)
    setting = await desk.settings.save(
        key,
        spec.value,
        scope=scope,
        changed_by=caller.name,
        expected=expected,
    )
    desk.configuration.invalidate(key)
    return _shown(setting)


def _shown(setting: Setting) -> Response:
    answer = document(setting.as_dict())
    answer.headers["ETag"] = f'"{setting.tag}"'
    return answer
