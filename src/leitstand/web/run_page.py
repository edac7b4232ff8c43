"""A page of the list of runs, for the API and for people."""

from leitstand.jobs import Run, RunStatus
from leitstand.web.controls import Controls
from leitstand.web.id_cursor import id_above


async def run_page(
    controls: Controls, job: str | None, status: RunStatus | None, cursor: str | None, limit: int
) -> tuple[list[Run], str | None]:
    """Up to ``limit`` runs, newest first, and the cursor of the page after them.

    Raises NotFoundError for an unknown job, ProblemError for a cursor that is none.
    """
    if job is not None:
        await controls.jobs.get(job)
    before = id_above(cursor)
    runs = await controls.queue.list_runs(job, status, before, limit + 1)
    shown = runs[:limit]
    return shown, str(shown[-1].id) if len(runs) > limit else None
