"""The run of a job that waits to be started, and the events that it is given meanwhile."""

from collections.abc import Callable, Mapping
from typing import Any

from leitstand.store.database import Connection, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)


async def give_to_waiting(
    connection: Connection,
    job_id: int,
    event_of: Callable[[Mapping[str, Any] | None], Mapping[str, Any]],
) -> int | None:
    """Give the job's waiting run, whoever asked for it, an event with what it had; returns its id.

    ``event_of`` makes the one of both (None: nothing before). None is returned when no run waits.
    In the caller's transaction, until whose end nobody starts the run; one that is being started
    by somebody at this moment does not wait any more.
    """
    waiting = await queries.lock_waiting(connection, job_id=job_id)
    if waiting is None:
        return None
    event = to_jsonb(event_of(waiting["event"]))
    await queries.set_event(connection, id=waiting["id"], event=event)
    found: int = waiting["id"]
    return found
