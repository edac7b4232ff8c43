"""The API's runs."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from leitstand.jobs import RunStatus
from leitstand.web.api.answers import Cursor, Limit, document, page
from leitstand.web.api.shapes import ItemsOf, RunDetailShape, RunShape
from leitstand.web.callers import Operator, Viewer
from leitstand.web.controls import Desk
from leitstand.web.run_page import run_page

router = APIRouter(prefix="/runs", tags=["runs"])

RunId = Annotated[int, Path(ge=1, le=2**63 - 1, alias="id", description="The run's number.")]
OfJob = Annotated[str | None, Query(description="Only runs of this job.")]
InStatus = Annotated[RunStatus | None, Query(description="Only runs with this status.")]


@router.get("", response_model=ItemsOf[RunShape])
async def list_runs(
    _: Viewer,
    desk: Desk,
    job: OfJob = None,
    status: InStatus = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List runs, newest first."""
    runs, following = await run_page(desk, job, status, cursor, limit)
    return page(runs, following)


@router.get("/{id}", response_model=RunDetailShape)
async def show_run(_: Viewer, desk: Desk, run_id: RunId) -> Response:
    """Show everything about a run."""
    run = await desk.queue.get(run_id)
    return document({**run.as_dict(), "late_results": await desk.queue.late_results(run_id)})


@router.post("/{id}/cancel", response_model=RunShape, status_code=HTTPStatus.ACCEPTED)
async def cancel_run(caller: Operator, desk: Desk, run_id: RunId) -> Response:
    """Cancel a run; one that is running is asked to stop."""
    run = await desk.queue.cancel(run_id, caller.name)
    return document(run.as_dict(), HTTPStatus.ACCEPTED)


@router.post("/{id}/retry", response_model=RunShape, status_code=HTTPStatus.ACCEPTED)
async def retry_run(caller: Operator, desk: Desk, run_id: RunId) -> Response:
    """Queue another attempt of a run that ended without success."""
    run = await desk.queue.retry(run_id, caller.name)
    return document(run.as_dict(), HTTPStatus.ACCEPTED)
