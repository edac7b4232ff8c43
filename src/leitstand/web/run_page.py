"""A page of the list of runs, for the API and for people."""

from collections.abc import Sequence

from leitstand.jobs import Run, RunStatus
from leitstand.web.controls import Controls
from leitstand.web.number_cursor import cut, number_in


async def run_page(
    controls: Controls, job: str | None, status: RunStatus | None, cursor: str | None, limit: int
) -> tuple[Sequence[Run], str | None]:
    """Up to ``limit`` runs, newest first, and the cursor of the page after them.

    Raises NotFoundError for an unknown job, ProblemError for a cursor that is none.
    """
    if job is not None:
        await controls.jobs.get(job)
    runs = await controls.queue.list_runs(job, status, number_in(cursor), limit + 1)
    return cut(runs, lambda run: run.id, limit)
