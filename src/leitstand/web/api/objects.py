"""The API's snapshots of objects; what takes them is a job of the kind `objects-backup`."""

import asyncio

from fastapi import APIRouter, Response

from leitstand.archive import list_snapshots
from leitstand.errors import UnavailableError
from leitstand.web.api.answers import Limit, page
from leitstand.web.api.archive_shapes import SnapshotShape
from leitstand.web.api.shapes import ItemsOf
from leitstand.web.callers import Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/backups/objects", tags=["backups"])

PATIENCE = 30.0
"""Seconds for the repository's answer, which may come from far away."""


@router.get("", response_model=ItemsOf[SnapshotShape])
async def list_object_snapshots(_: Viewer, desk: Desk, limit: Limit = 500) -> Response:
    """List the newest snapshots on one page, the oldest of them first; the repository is asked."""
    try:
        async with asyncio.timeout(PATIENCE):
            snapshots = await list_snapshots(desk.objects)
    except TimeoutError:
        raise UnavailableError(f"the repository did not answer within {PATIENCE:g} s") from None
    return page(snapshots[-limit:], None)
