"""The API's backups of PostgreSQL; what takes time is done by runs of the jobs for it."""

import asyncio
from enum import StrEnum
from http import HTTPStatus

from fastapi import APIRouter, Response

from leitstand.archive import list_generations
from leitstand.protection import FULL, INCREMENTAL, ROTATE, VERIFY
from leitstand.web.api.answers import Cursor, Limit, document, one_by_name, page_by_name
from leitstand.web.api.shapes import GenerationShape, ItemsOf, RunShape
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/backups/postgres", tags=["backups"])


class Action(StrEnum):
    """What can be asked for."""

    FULL = "full"
    INCREMENTAL = "incremental"
    VERIFY = "verify"
    ROTATE = "rotate"


JOBS = {
    Action.FULL: FULL,
    Action.INCREMENTAL: INCREMENTAL,
    Action.VERIFY: VERIFY,
    Action.ROTATE: ROTATE,
}


@router.get("", response_model=ItemsOf[GenerationShape])
async def list_backups(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List generations, the oldest first."""
    generations = await asyncio.to_thread(list_generations, desk.backups)
    return page_by_name(generations, lambda generation: generation.id, cursor, limit)


@router.get("/{generation}", response_model=GenerationShape)
async def show_backup(_: Viewer, desk: Desk, generation: str) -> Response:
    """Show a generation."""
    generations = await asyncio.to_thread(list_generations, desk.backups)
    see = "See `leitstand backup postgres list`."
    return one_by_name(generations, lambda each: each.id, generation, "generation", see)


@router.post("/{action}", response_model=RunShape, status_code=HTTPStatus.ACCEPTED)
async def run_backup_job(caller: Operator, desk: Desk, action: Action) -> Response:
    """Queue a run of the self-protection job that does it."""
    run = await desk.queue.request(JOBS[action], caller.name)
    return document(run.as_dict(), HTTPStatus.ACCEPTED)
