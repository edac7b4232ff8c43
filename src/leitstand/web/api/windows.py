"""The API's maintenance windows."""

from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from leitstand.jobs import Thing, WindowSpec
from leitstand.web.api.answers import Cursor, Limit, document, one_by_name, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import ItemsOf, WindowShape
from leitstand.web.api.written import read_spec
from leitstand.web.callers import Admin, Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/windows", tags=["windows"])


@router.get("", response_model=ItemsOf[WindowShape])
async def list_windows(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List windows by name."""
    return page_by_name(await desk.windows.list_all(), lambda window: window.name, cursor, limit)


@router.get("/{name}", response_model=WindowShape)
async def show_window(_: Viewer, desk: Desk, name: str) -> Response:
    """Show a window."""
    windows = await desk.windows.list_all()
    return one_by_name(
        windows, lambda window: window.name, name, "window", "See `leitstand window list`."
    )


@router.put("/{name}", response_model=WindowShape, openapi_extra=body_of(WindowSpec))
async def save_window(_: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Create the window, or replace the one of that name."""
    spec = await read_spec(request, Thing.WINDOW, name, desk.kinds)
    return document((await desk.windows.save(spec)).as_dict())


@router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
async def delete_window(_: Admin, desk: Desk, name: str) -> Response:
    """Delete the window; what waits for its end alone runs at once."""
    await desk.windows.delete(name)
    return Response(status_code=HTTPStatus.NO_CONTENT)
