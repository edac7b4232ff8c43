"""The API's jobs."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from leitstand.errors import NotFoundError
from leitstand.jobs import JobSpec, Thing, explain, preview
from leitstand.web.api.answers import Cursor, Limit, document, page_by_name
from leitstand.web.api.described import body_of
from leitstand.web.api.shapes import ItemsOf, JobShape, OccurrenceShape, RunShape, WhyShape
from leitstand.web.api.written import read_spec
from leitstand.web.callers import Admin, Operator, Viewer
from leitstand.web.controls import Controls, Desk

router = APIRouter(prefix="/jobs", tags=["jobs"])

At = Annotated[datetime | None, Query(description="A time, RFC 3339; UTC by default.")]
Count = Annotated[int, Query(ge=1, le=1000, alias="n", description="How many times.")]


@router.get("", response_model=ItemsOf[JobShape])
async def list_jobs(_: Viewer, desk: Desk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List jobs by name."""
    return page_by_name(await desk.jobs.list_all(), lambda job: job.name, cursor, limit)


@router.get("/{name}", response_model=JobShape)
async def show_job(_: Viewer, desk: Desk, name: str) -> Response:
    """Show everything about a job; secrets among its parameters are masked."""
    return document((await desk.jobs.get(name)).as_dict())


@router.put("/{name}", response_model=JobShape, openapi_extra=body_of(JobSpec))
async def save_job(_: Admin, desk: Desk, name: str, request: Request) -> Response:
    """Create the job (201), or replace the one of that name (200)."""
    spec = await read_spec(request, Thing.JOB, name, desk.kinds)
    status = HTTPStatus.OK if await _exists(desk, name) else HTTPStatus.CREATED
    return document((await desk.save_job(spec)).as_dict(), status)


@router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
async def delete_job(_: Admin, desk: Desk, name: str) -> Response:
    """Delete the job; the history of its runs stays."""
    await desk.delete_job(name)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.post("/{name}/enable", response_model=JobShape)
async def enable_job(_: Operator, desk: Desk, name: str) -> Response:
    """Let the job run by its schedule again; what it missed is not caught up."""
    return document((await desk.jobs.set_enabled(name, True)).as_dict())


@router.post("/{name}/disable", response_model=JobShape)
async def disable_job(_: Operator, desk: Desk, name: str) -> Response:
    """Stop the job's schedule; runs that are active go on."""
    return document((await desk.jobs.set_enabled(name, False)).as_dict())


@router.post("/{name}/run", response_model=RunShape, status_code=HTTPStatus.ACCEPTED)
async def run_job(caller: Operator, desk: Desk, name: str) -> Response:
    """Queue a run of the job now; windows do not postpone it."""
    run = await desk.queue.request(name, caller.name)
    return document(run.as_dict(), HTTPStatus.ACCEPTED)


@router.get("/{name}/next", response_model=ItemsOf[OccurrenceShape])
async def next_occurrences(_: Viewer, desk: Desk, name: str, count: Count = 10) -> Response:
    """Show when the job will run next, and what windows make of it."""
    job = await desk.jobs.get(name)
    windows = await desk.window_source.windows_for([job])
    occurrences = preview(job, datetime.now(UTC), count, windows)
    return document({"items": [each.as_dict() for each in occurrences], "next": None})


@router.get("/{name}/why", response_model=WhyShape)
async def why_not(_: Viewer, desk: Desk, name: str, at: At = None) -> Response:
    """Say why the job did not run at a time, or does not run now."""
    moment = at if at is None or at.tzinfo else at.replace(tzinfo=UTC)
    return document((await explain(desk.records, name, moment)).as_dict())


async def _exists(desk: Controls, name: str) -> bool:
    try:
        await desk.jobs.get(name)
    except NotFoundError:
        return False
    return True
