"""What follows runs that failed: a further attempt, or their events go to the run that waits."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from leitstand.jobs.run_change import RunChange, Tell
from leitstand.jobs.run_status import RunStatus
from leitstand.jobs.waiting_run import SOON, give_to_waiting, together_with
from leitstand.store.database import Connection, load_queries

queries = load_queries(__file__)


async def queue_further(connection: Connection, ids: Sequence[int], tell: Tell) -> set[UUID]:
    """Queue further attempts of these runs, which just failed and are to be tried again.

    Returns the correlation ids of those that have one. The others say why not: somebody has
    cancelled them, their job is gone or disabled, or another run of it waits. That run gets the
    events that the failed one had, since the events are told to nobody else. In the caller's
    transaction.
    """
    going_on: set[UUID] = set()
    left = list(ids)
    complete = True
    while left:
        rows = [row async for row in queries.queue_further(connection, ids=left, soon=SOON)]
        for row in rows:
            tell(RunChange.of(row, RunStatus.QUEUED))
            going_on.add(row["correlation_id"])
        if len(rows) == len(left):
            break
        complete = False
        # Where no run waits any more, the attempt can be queued after all: once again.
        events = [row async for row in queries.events_left(connection, ids=left)]
        left = [row["id"] for row in events if not await _handed_on(connection, row)]
    if not complete:
        await queries.mark_not_retried(connection, ids=list(ids))
    return going_on


async def _handed_on(connection: Connection, run: Mapping[str, Any]) -> bool:
    """Whether the run's events are kept for another run of its job."""
    if run["one_at_a_time"]:
        events = [each["id"] for each in run["event"]["events"]]
        await queries.set_apart_again(connection, job_id=run["job_id"], events=events)
        reason = "another run of the job is waiting already; the event has its own after that"
    else:
        waiting = await give_to_waiting(connection, run["job_id"], together_with(run["event"]))
        if waiting is None:
            return False
        reason = f"run {waiting} of the job is waiting already, and has been given the events"
    await queries.mark_handed_on(connection, id=run["id"], reason=reason)
    return True
