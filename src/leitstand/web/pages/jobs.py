"""The pages of jobs: the list, one of them, and what its buttons do."""

from datetime import UTC, datetime
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from leitstand.access import Role
from leitstand.errors import LeitstandError
from leitstand.jobs import Job, Occurrence, explain, preview
from leitstand.web.controls import Controls, Desk
from leitstand.web.pages.facts import facts_of
from leitstand.web.pages.guard import PageOperator, PageViewer, to_page
from leitstand.web.pages.rendering import pages_of

router = APIRouter(prefix="/jobs", include_in_schema=False)

NEXT_TIMES = 5


@router.get("")
async def list_jobs(caller: PageViewer, desk: Desk, request: Request) -> Response:
    """All jobs."""
    return pages_of(request).show(request, "jobs.html", caller, jobs=await desk.jobs.list_all())


@router.get("/{name}")
async def show_job(caller: PageViewer, desk: Desk, request: Request, name: str) -> Response:
    """A job, why it does not run now, its next times and its last runs."""
    why = await explain(desk.records, name)
    return pages_of(request).show(
        request,
        "job.html",
        caller,
        job=why.job,
        sentences=why.sentences,
        occurrences=await _next_times(desk, why.job),
        runs=why.runs,
        facts=facts_of(why.job.as_dict(), {"name"}),
        operates=caller.role.includes(Role.OPERATOR),
    )


@router.post("/{name}/run")
async def run_job(caller: PageOperator, desk: Desk, name: str) -> Response:
    """Queue a run now, and show it."""
    run = await desk.queue.request(name, caller.name)
    return to_page(f"/runs/{run.id}")


@router.post("/{name}/enable")
async def enable_job(_: PageOperator, desk: Desk, name: str) -> Response:
    """Let it run by its schedule again."""
    await desk.jobs.set_enabled(name, True)
    return to_page(f"/jobs/{quote(name)}")


@router.post("/{name}/disable")
async def disable_job(_: PageOperator, desk: Desk, name: str) -> Response:
    """Stop its schedule."""
    await desk.jobs.set_enabled(name, False)
    return to_page(f"/jobs/{quote(name)}")


async def _next_times(desk: Controls, job: Job) -> list[Occurrence]:
    """What is planned; nothing for a schedule that cannot be computed, as the sentences say."""
    windows = await desk.window_source.windows_for([job])
    try:
        return preview(job, datetime.now(UTC), NEXT_TIMES, windows)
    except LeitstandError:
        return []
