"""A page of the list of runs, for the API and for people."""

from http import HTTPStatus

from leitstand.jobs import Run, RunStatus
from leitstand.web.controls import Controls
from leitstand.web.problem import ProblemError

LARGEST = 2**63 - 1


async def run_page(
    controls: Controls, job: str | None, status: RunStatus | None, cursor: str | None, limit: int
) -> tuple[list[Run], str | None]:
    """Up to ``limit`` runs, newest first, and the cursor of the page after them.

    Raises NotFoundError for an unknown job, ProblemError for a cursor that is none.
    """
    if job is not None:
        await controls.jobs.get(job)
    before = None if cursor is None else _run_id(cursor)
    runs = await controls.queue.list_runs(job, status, before, limit + 1)
    shown = runs[:limit]
    return shown, str(shown[-1].id) if len(runs) > limit else None


def _run_id(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 20) or int(cursor) > LARGEST:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "USAGE",
            "the cursor is none",
            "Use `next` of an earlier answer as it is.",
        )
    return int(cursor)
