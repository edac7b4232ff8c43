"""The run of a job that waits to be started, the events that it is given, and its cancellation."""

from collections.abc import Callable, Mapping
from typing import Any

from leitstand.display import counted
from leitstand.events import added_since, joined
from leitstand.jobs.run_change import RunChange, Tell
from leitstand.jobs.run_status import RunStatus
from leitstand.store.database import Connection, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

SOON = 30.0
"""Seconds before its start from which on a run that windows may hold back is looked at: once it may
start, any server may do so."""

EventOf = Callable[[Mapping[str, Any] | None], Mapping[str, Any]]
"""Makes the event of a run that waits, of what it has already (None: nothing)."""


def together_with(events: Mapping[str, Any]) -> EventOf:
    """Adds these events, each of which may be older or newer than those that the run has."""
    return lambda waiting: events if waiting is None else joined(events, waiting)


async def give_to_waiting(connection: Connection, job_id: int, event_of: EventOf) -> int | None:
    """Give the job's waiting run, whoever asked for it, an event with what it had; returns its id.

    None is returned when no run waits. In the caller's transaction, until whose end nobody starts
    the run; one that is being started by somebody at this moment does not wait any more.
    """
    waiting = await queries.lock_waiting(connection, job_id=job_id)
    if waiting is None:
        return None
    event = to_jsonb(event_of(waiting["event"]))
    await queries.set_event(connection, id=waiting["id"], event=event)
    found: int = waiting["id"]
    return found


async def cancel_waiting(
    connection: Connection, run_id: int, who: str | None, tell: Tell
) -> Mapping[str, Any] | None:
    """Cancel a run that waits, with what it was queued for; its row, or None if it does not wait.

    A further attempt was queued for the events of the one before, a run that somebody asked for
    was for none. What such a run was given since is not what was cancelled, and no run has had it:
    another run of the job gets it. In the caller's transaction.
    """
    run: Mapping[str, Any] | None = await queries.cancel_waiting(connection, id=run_id, who=who)
    if run is None or run["event"] is None:
        return run
    left = await _given_since(connection, run)
    heir = None
    if left is not None and run["job_id"] is not None:  # else the job is gone
        heir = await _hand_on(connection, run["job_id"], left, tell)
    said: Mapping[str, Any] = await queries.say_about_events(
        connection, id=run_id, message=_what_became_of(run["event"], left, heir)
    )
    return said


async def _given_since(connection: Connection, run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The events that the run has beside those it was queued for; None: it has no others."""
    if run["attempt"] > 1:
        before = await queries.attempt_before(connection, id=run["id"])
        return added_since(run["event"], before and before["event"])
    return None if run["trigger_by"] == "event" else run["event"]


async def _hand_on(
    connection: Connection, job_id: int, events: Mapping[str, Any], tell: Tell
) -> int | None:
    """Have another run of the job start for the events; its id, None if the job hears them not."""
    while await queries.listens(connection, job_id=job_id, name=events["name"]):
        waiting = await give_to_waiting(connection, job_id, together_with(events))
        if waiting is not None:
            return waiting
        row = await queries.queue_heir(connection, job_id=job_id, event=to_jsonb(events), soon=SOON)
        if row is not None:
            tell(RunChange.of(row, RunStatus.QUEUED))
            heir: int = row["id"]
            return heir
    return None


def _what_became_of(
    events: Mapping[str, Any], left: Mapping[str, Any] | None, heir: int | None
) -> str:
    """The sentence about a cancelled run that had ``events``, of which ``left`` were to go on."""
    cancelled = "cancelled before it started"
    if left is None:
        return f"{cancelled}, with the {counted(events['count'], 'event')} that it was for"
    came = f"the {counted(left['count'], 'event')} that came meanwhile"
    if heir is None:
        return f"{cancelled}, with {came}: the job does not listen any more"
    return f"{cancelled}; run {heir} has {came}"
