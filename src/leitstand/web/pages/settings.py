"""The page of settings and feature flags."""

from fastapi import APIRouter, Request, Response

from leitstand.access import Role
from leitstand.flags import FlagChange
from leitstand.web.controls import Desk
from leitstand.web.pages.guard import PageAdmin, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/settings", include_in_schema=False)


@router.get("")
async def list_settings(caller: PageViewer, desk: Desk, request: Request) -> Response:
    """All values, and for whom flags are on."""
    return pages_of(request).show(
        request,
        "settings.html",
        caller,
        settings=await desk.settings.list_all(),
        flags=await desk.flag_ledger.list_versions(),
        manages=caller.role.includes(Role.ADMIN),
    )


@router.post("/flags/{key}/on")
async def switch_on(caller: PageAdmin, desk: Desk, key: str) -> Response:
    """Switch a flag on for all."""
    return await _switch(desk, key, True, caller.name)


@router.post("/flags/{key}/off")
async def switch_off(caller: PageAdmin, desk: Desk, key: str) -> Response:
    """Leave it on for its targets and its share alone."""
    return await _switch(desk, key, False, caller.name)


async def _switch(desk: Desk, key: str, enabled: bool, who: str) -> Response:
    flag = await desk.flag_ledger.find(key)
    await desk.flag_ledger.change(
        key, FlagChange(enabled=enabled), changed_by=who, expected=flag.version
    )
    desk.flags.invalidate()
    return to_page("/settings")
