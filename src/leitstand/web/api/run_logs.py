"""The API's logs of runs, also of those that still write."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from leitstand.web.api.answers import document
from leitstand.web.api.runs import RunId
from leitstand.web.api.shapes import LogShape
from leitstand.web.callers import Viewer
from leitstand.web.controls import Desk

router = APIRouter(prefix="/runs", tags=["runs"])

After = Annotated[int, Query(ge=0, le=2**63 - 1, description="`next` of the answer before.")]


@router.get("/{id}/logs", response_model=LogShape)
async def read_log(_: Viewer, desk: Desk, run_id: RunId, after: After = 0) -> Response:
    """Read up to 500 pieces of a run's log that follow ``after``.

    To follow a log, ask again with ``next`` as ``after`` until ``next`` is null: then the run has
    ended and all of its log was read.
    """
    # In this order: what the run wrote before its end is read after that was seen.
    run = await desk.queue.get(run_id)
    pieces = await desk.queue.logs(run_id, after)
    items = [{"id": p.id, "time": p.logged_at, "text": p.text} for p in pieces]
    over = run.status.is_final and not pieces
    following = None if over else (pieces[-1].id if pieces else after)
    return document({"items": items, "next": following, "status": run.status})
