"""The pages of runs: the list, one of them, and what its buttons do."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from leitstand.access import Role
from leitstand.jobs import RunStatus
from leitstand.nearest import chosen
from leitstand.web.controls import Desk
from leitstand.web.pages.facts import facts_of
from leitstand.web.pages.filtering import Filter
from leitstand.web.pages.guard import PageOperator, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of
from leitstand.web.run_page import run_page

router = APIRouter(prefix="/runs", include_in_schema=False)

RunId = Annotated[int, Path(ge=1, le=2**63 - 1)]
STATUSES = [status.value for status in RunStatus]
SHOWN = 50


class RunFilter(Filter):
    """Which runs the list shows."""

    job: str = ""
    status: str = ""


@router.get("")
async def list_runs(
    caller: PageViewer, desk: Desk, request: Request, wanted: Annotated[RunFilter, Query()]
) -> Response:
    """Runs, newest first."""
    status = chosen("status", wanted.status, RunStatus) if wanted.status else None
    found, cursor = await run_page(desk, wanted.job or None, status, wanted.cursor or None, SHOWN)
    return pages_of(request).show(
        request,
        "runs.html",
        caller,
        runs=found,
        wanted=wanted,
        statuses=STATUSES,
        names=[job.name for job in await desk.jobs.list_all()],
        older=wanted.older(cursor),
    )


@router.get("/{run_id}")
async def show_run(
    caller: PageViewer,
    desk: Desk,
    request: Request,
    run_id: RunId,
    after: Annotated[int, Query(ge=0, le=2**63 - 1)] = 0,
) -> Response:
    """A run, its progress and 500 pieces of its log."""
    run = await desk.queue.get(run_id)
    log = await desk.queue.logs(run_id, after)
    more = bool(log) and bool(await desk.queue.logs(run_id, log[-1].id))
    return pages_of(request).show(
        request,
        "run.html",
        caller,
        run=run,
        facts=facts_of(run.as_dict(), {"id", "job", "status", "progress", "error_detail"}),
        log=log,
        more=log[-1].id if more else None,
        operates=caller.role.includes(Role.OPERATOR),
    )


@router.post("/{run_id}/cancel")
async def cancel_run(caller: PageOperator, desk: Desk, run_id: RunId) -> Response:
    """Cancel it."""
    await desk.queue.cancel(run_id, caller.name)
    return to_page(f"/runs/{run_id}")


@router.post("/{run_id}/retry")
async def retry_run(caller: PageOperator, desk: Desk, run_id: RunId) -> Response:
    """Queue another attempt, and show it."""
    run = await desk.queue.retry(run_id, caller.name)
    return to_page(f"/runs/{run.id}")
