"""The API's modules and their credentials."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from leitstand.flags import FlagChange
from leitstand.jobs import Duration
from leitstand.web.api.answers import Cursor, Limit, document, page, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.module_shapes import (
    ActivityShape,
    CredentialShape,
    ModuleShape,
    NewCredentialShape,
)
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Admin, Viewer
from leitstand.web.controls import Controls, Desk
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/modules", tags=["modules"])

ForTenant = Annotated[str | None, Query(description="Without it: whether it is for all.")]

LONGEST = 100 * 365 * 86400.0
"""Seconds for which a credential may be valid, unless that is for ever."""


class ModuleSpec(BaseModel):
    """A module as it is to be; without ``metrics_url`` it shows no metrics."""

    model_config = ConfigDict(extra="forbid")

    version: str = Field(max_length=200)
    required_flags: list[str] = Field(default_factory=list, max_length=100)
    metrics_url: str | None = None


class CredentialSpec(BaseModel):
    """How long the old credential stays valid, and the new one is; in seconds, or as ``"1h"``."""

    model_config = ConfigDict(extra="forbid")

    keep_old: Duration = Field(default=0.0, ge=0, le=LONGEST)
    expires_in: Duration | None = Field(default=None, gt=0, le=LONGEST)


class ForWhom(BaseModel):
    """The tenant for whom a module is switched."""

    model_config = ConfigDict(extra="forbid")

    tenant: str = Field(min_length=1, max_length=200)


@router.get("", response_model=ItemsOf[ModuleShape])
async def list_modules(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List modules by name."""
    return page_by_name(await desk.modules.list_all(), lambda module: module.name, cursor, limit)


@router.get("/{name}", response_model=ModuleShape)
async def show_module(_: Viewer, desk: Desk, name: str) -> Response:
    """Show a module."""
    return document((await desk.modules.get(name)).as_dict())


@router.put("/{name}", response_model=ModuleShape, openapi_extra=body_of(ModuleSpec))
async def register_module(_: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Register the module, or replace what is known of the one of that name."""
    spec = await read_model(request, ModuleSpec, "module")
    module = await desk.modules.save(name, spec.version, spec.required_flags, spec.metrics_url)
    return document(module.as_dict())


@router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
async def delete_module(_: Admin, desk: Desk, name: str) -> Response:
    """Delete the module and its credentials, which open nothing any more."""
    await desk.modules.delete(name)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.get("/{name}/active", response_model=ActivityShape)
async def show_activity(_: Viewer, desk: Desk, name: str, tenant: ForTenant = None) -> Response:
    """Say whether the module is active for a tenant, flag by flag."""
    return await _activity(desk, name, tenant)


@router.post("/{name}/activate", response_model=ActivityShape, openapi_extra=body_of(ForWhom))
async def activate(caller: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Switch all flags of the module on for a tenant."""
    tenant = (await read_model(request, ForWhom, "tenant")).tenant
    change = FlagChange(added=frozenset({tenant}))
    for flag in (await desk.modules.get(name)).required_flags:
        await desk.flag_ledger.change(flag, change, changed_by=caller.name)
    desk.flags.invalidate()
    return await _activity(desk, name, tenant)


@router.post("/{name}/deactivate", response_model=ActivityShape, openapi_extra=body_of(ForWhom))
async def deactivate(caller: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Take a tenant out of the targets of the module's flags.

    Other modules may need the same flags. Where a flag is on for all, or the rollout includes the
    tenant, it stays on, and the answer says so.
    """
    tenant = (await read_model(request, ForWhom, "tenant")).tenant
    needed = (await desk.modules.get(name)).required_flags
    change = FlagChange(removed=frozenset({tenant}))
    for flag in {each.key for each in await desk.flag_ledger.list_all()}.intersection(needed):
        await desk.flag_ledger.change(flag, change, changed_by=caller.name)
    desk.flags.invalidate()
    return await _activity(desk, name, tenant)


@router.get("/{name}/credentials", response_model=ItemsOf[CredentialShape])
async def list_credentials(_: Viewer, desk: Desk, name: str) -> Response:
    """List the module's credentials on one page, the newest first; secrets are not stored."""
    module = await desk.modules.get(name)
    credentials = await desk.credentials.list_all()
    return page([each for each in credentials if each.module == module.name], None)


@router.post(
    "/{name}/credentials",
    response_model=NewCredentialShape,
    status_code=HTTPStatus.CREATED,
    openapi_extra=body_of(CredentialSpec),
)
async def rotate_credential(_: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Make the module's new credential in place of its old one; `secret` is shown this once."""
    spec = await read_model(request, CredentialSpec, "credential")
    made = await desk.credentials.provision(
        name, keep_old=spec.keep_old, expires_in=spec.expires_in
    )
    shown = {"client_id": made.client_id, "secret": made.secret}
    return document(shown, HTTPStatus.CREATED)


@router.delete("/{name}/credentials/{client_id}", response_model=CredentialShape)
async def revoke_credential(_: Admin, desk: Desk, name: str, client_id: str) -> Response:
    """End a credential of the module now and for ever."""
    return document((await desk.credentials.revoke(client_id, name)).as_dict())


async def _activity(desk: Controls, name: str, tenant: str | None) -> Response:
    module = await desk.modules.get(name)
    answers = [await desk.flags.evaluate(flag, tenant) for flag in module.required_flags]
    flags = [{"key": a.key, "value": a.value, "reason": a.reason} for a in answers]
    active = all(answer.value for answer in answers)
    return document({"module": name, "tenant": tenant, "active": active, "flags": flags})
