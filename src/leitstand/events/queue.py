"""The ledger of events: the only code that reads and writes events and event_deliveries."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.errors import NotFoundError, UsageError
from leitstand.events.coalescing import LISTED, Gathered
from leitstand.events.event import Event, EventState, NewEvent
from leitstand.events.event_name import checked_name
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

DRAIN_LOCK = 0x4C53_0008
"""Advisory lock of the server that drains ("LS" and a number)."""

PAYLOAD_LIMIT = 64 * 1024
"""Characters of a payload at most, as JSON."""


class EventRefusedError(UsageError):
    """An event that cannot be stored: its name or its payload is not as it has to be."""

    code = "EVENT_REFUSED"


class PayloadTooLongError(EventRefusedError):
    """A payload of more than ``PAYLOAD_LIMIT`` characters."""

    code = "PAYLOAD_TOO_LONG"


@dataclass(frozen=True)
class Waiting:
    """An event that no pass has looked at yet."""

    id: int
    tenant: str
    name: str
    source: str
    occurred_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape: that of an event, without its payload and what became of it."""
        return vars(self).copy()


class EventQueue:
    """Events: stored, waiting for a pass, delivered."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- storing ------------------------------------------------------------------------------

    async def emit(self, event: NewEvent) -> Event | None:
        """Store one event and wake the servers; None when it was stored before.

        Raises EventRefusedError.
        """
        async with self._database.transaction() as connection:
            stored = await self.emit_in(connection, [event])
            return await self._get(connection, stored[0]) if stored else None

    async def emit_once(self, event: NewEvent) -> tuple[int | None, bool]:
        """Store an event that has an id of the sender's, unless it was stored before.

        Returns the id of the one that is stored, and whether it was stored before; if so, it may be
        deleted already (None). Raises EventRefusedError.
        """
        async with self._database.transaction() as connection:
            stored = await self.emit_in(connection, [event])
            if stored:
                return stored[0], False
            # Whoever was faster has committed by now: the insertion has waited for that.
            row = await queries.known(connection, source=event.source, message_id=event.message_id)
            return (None if row is None else row["id"]), True

    async def emit_in(self, connection: Connection, events: Sequence[NewEvent]) -> list[int]:
        """Store events in the caller's transaction, whose end wakes the servers.

        Returns the ids in the order of the events, without those that were stored before.
        """
        documents = [_document(position, event) for position, event in enumerate(events)]
        rows = queries.store_events(connection, events=to_jsonb(documents))
        stored = sorted([row["id"] async for row in rows])
        if stored:
            await queries.wake(connection)
        return stored

    # -- draining -----------------------------------------------------------------------------

    async def take_turn(self, connection: Connection) -> datetime | None:
        """The database's time if this transaction is the one that drains; None: another is."""
        row = await queries.take_turn(connection, lock=DRAIN_LOCK)
        now: datetime = row["now"]
        return now if row["taken"] else None

    async def waiting(self, connection: Connection, limit: int) -> list[Waiting]:
        """Up to ``limit`` events that no pass has looked at, in the order of their ids."""
        rows = queries.waiting(connection, max_rows=limit)
        return [Waiting(**row) async for row in rows]

    async def gather(self, connection: Connection, events: Sequence[Waiting]) -> Gathered:
        """These events, at least one, all of one name, as a run is to get them."""
        ids = sorted(event.id for event in events)[-LISTED:]
        times = [event.occurred_at for event in events]
        newest = await self.read(connection, ids)
        return Gathered(len(events), min(times), max(times), newest)

    async def read(self, connection: Connection, ids: Sequence[int]) -> list[Event]:
        """The events with these ids, in the order of the ids."""
        return [Event.from_row(row) async for row in queries.read(connection, ids=list(ids))]

    async def mark(
        self,
        connection: Connection,
        ids: Sequence[int],
        state: EventState,
        run_id: int | None = None,
    ) -> None:
        """Note what has become of events."""
        await queries.mark(connection, ids=list(ids), state=state, run_id=run_id)

    async def set_apart(
        self, connection: Connection, jobs: Sequence[int], events: Sequence[int]
    ) -> None:
        """Keep these events for each of the jobs, which take them one at a time."""
        await queries.set_apart(connection, jobs=list(jobs), events=list(events))

    async def next_apart(self, connection: Connection, jobs: Sequence[int]) -> dict[int, Event]:
        """The oldest event that is kept for each of the jobs, for those that have one."""
        rows = queries.next_apart(connection, jobs=list(jobs))
        oldest = {row["job_id"]: row["event_id"] async for row in rows}
        events = {event.id: event for event in await self.read(connection, sorted(oldest.values()))}
        return {job: events[event] for job, event in oldest.items()}

    async def delivered(
        self, connection: Connection, job_id: int, event_id: int, run_id: int
    ) -> None:
        """Note that a run has the event that was kept for its job."""
        await queries.delivered(connection, job_id=job_id, event_id=event_id, run_id=run_id)

    async def forget_apart(self, connection: Connection, job_id: int) -> None:
        """Drop what is kept for a job, which wants something else from now on."""
        await queries.forget_apart(connection, job_id=job_id)

    # -- looking ------------------------------------------------------------------------------

    async def list_events(
        self,
        name: str | None = None,
        state: EventState | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[Event]:
        """Events, newest first; ``before`` is the id that the page ends above."""
        async with self._database.connection() as connection:
            rows = queries.list_events(
                connection, name=name, state=state, before=before, max_rows=limit
            )
            return [Event.from_row(row) async for row in rows]

    async def get(self, event_id: int) -> Event:
        """The event; raises NotFoundError."""
        async with self._database.connection() as connection:
            return await self._get(connection, event_id)

    async def _get(self, connection: Connection, event_id: int) -> Event:
        found = await self.read(connection, [event_id])
        if not found:
            raise NotFoundError(
                f"there is no event {event_id}", remedy="See `leitstand event list`."
            )
        return found[0]

    # -- history ------------------------------------------------------------------------------

    async def prune(self, older_than: float, batch: int = 1000) -> int:
        """Delete one batch of what was stored more than ``older_than`` seconds ago and is done."""
        async with self._database.transaction(deadline=30) as connection:
            row = await queries.prune(connection, older_than=older_than, batch=batch)
        gone: int = row["gone"]
        return gone


def refuse_unfit(events: Iterable[NewEvent]) -> None:
    """Raise EventRefusedError for an event that cannot be stored."""
    for event in events:
        try:
            checked_name(event.name)
        except ValueError as error:
            raise EventRefusedError(str(error), remedy="Give the event another name.") from None
        if payload_length(dict(event.payload)) > PAYLOAD_LIMIT:
            raise PayloadTooLongError(
                f"the payload is longer than {PAYLOAD_LIMIT // 1024} KiB",
                remedy="Send a reference to the data, and let the job fetch it.",
            )


def payload_length(value: object) -> int:
    """Characters of a payload, or a part of one, as JSON without spaces."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def _document(position: int, event: NewEvent) -> dict[str, Any]:
    refuse_unfit([event])
    return {
        "position": position,
        "name": event.name,
        "source": event.source,
        "tenant": event.tenant,
        "payload": dict(event.payload),
        "occurred_at": event.occurred_at,
        "message_id": event.message_id,
    }
