"""The API's tenants."""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from leitstand.web.api.answers import Cursor, Limit, document, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import ItemsOf, TenantShape
from leitstand.web.callers import Admin, Viewer
from leitstand.web.controls import Desk
from leitstand.web.request_model import read_model

router = APIRouter(prefix="/tenants", tags=["tenants"])


class TenantSpec(BaseModel):
    """A tenant as it is asked for."""

    model_config = ConfigDict(extra="forbid")

    slug: str
    name: str


@router.get("", response_model=ItemsOf[TenantShape])
async def list_tenants(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List tenants by slug, also those that are being made or deleted."""
    return page_by_name(await desk.tenants.list_all(), lambda each: each.slug, cursor, limit)


@router.get("/{slug}", response_model=TenantShape)
async def show_tenant(_: Viewer, desk: Desk, slug: str) -> Response:
    """Show a tenant."""
    return document((await desk.tenants.find(slug)).as_dict())


@router.post(
    "",
    response_model=TenantShape,
    status_code=HTTPStatus.CREATED,
    openapi_extra=body_of(TenantSpec),
)
async def create_tenant(_: Admin, desk: Desk, request: Request) -> Response:
    """Make a tenant and its database; 409 if there is one of this slug."""
    spec = await read_model(request, TenantSpec, "tenant")
    tenant = await desk.provisioner.provision(spec.slug, spec.name)
    return document(tenant.as_dict(), HTTPStatus.CREATED)


@router.delete("/{slug}", response_model=TenantShape, status_code=HTTPStatus.ACCEPTED)
async def delete_tenant(_: Admin, desk: Desk, slug: str) -> Response:
    """Delete a tenant; its database is closed at once and dropped at `drop_at`."""
    return document((await desk.provisioner.delete(slug)).as_dict(), HTTPStatus.ACCEPTED)
