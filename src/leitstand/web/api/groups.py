"""The API's groups of jobs."""

from fastapi import APIRouter, Request, Response

from leitstand.jobs import GroupSpec, Thing
from leitstand.web.api.answers import Cursor, Limit, one_by_name, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import GroupShape, ItemsOf
from leitstand.web.api.written import read_spec
from leitstand.web.callers import Admin, Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/groups", tags=["groups"])


@router.get("", response_model=ItemsOf[GroupShape])
async def list_groups(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List groups by name, with what runs and waits in them."""
    return page_by_name(await desk.jobs.list_groups(), lambda group: group.name, cursor, limit)


@router.get("/{name}", response_model=GroupShape)
async def show_group(_: Viewer, desk: Desk, name: str) -> Response:
    """Show a group."""
    groups = await desk.jobs.list_groups()
    return one_by_name(
        groups, lambda group: group.name, name, "group", "See `leitstand group list`."
    )


@router.put("/{name}", response_model=GroupShape, openapi_extra=body_of(GroupSpec))
async def limit_group(caller: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Set how many runs of the group may work at a time; it is made if there is none."""
    spec = await read_spec(request, Thing.GROUP, name, desk.kinds)
    await desk.jobs.set_group_limit(name, spec.limit)
    return await show_group(caller, desk, name)
