"""The page of this server's health and of modules."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from leitstand.health import Readiness
from leitstand.modules import CredentialInfo
from leitstand.web.controls import Desk
from leitstand.web.pages.guard import PageViewer
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/modules", include_in_schema=False)


@router.get("")
async def list_modules(caller: PageViewer, desk: Desk, request: Request) -> Response:
    """The readiness checks, and modules with their flags and credentials."""
    readiness: Readiness = request.app.state.readiness
    credentials = await desk.credentials.list_all()
    modules = [
        (module, await _flags(desk, module.required_flags), _valid(module.name, credentials))
        for module in await desk.modules.list_all()
    ]
    report = (await readiness.report()).as_dict()
    return pages_of(request).show(request, "modules.html", caller, modules=modules, health=report)


async def _flags(desk: Desk, keys: Sequence[str]) -> list[tuple[str, bool]]:
    """Which flags it needs, and whether they are on for all."""
    return [(key, await desk.flags.is_enabled(key)) for key in keys]


def _valid(name: str, credentials: Sequence[CredentialInfo]) -> list[CredentialInfo]:
    return [each for each in credentials if each.module == name and each.valid]
