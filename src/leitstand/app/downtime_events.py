"""Leitstand's own events about downtimes: what they are called, and their way into the queue."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from leitstand.events import CatalogueEntry, EventQueue, NewEvent
from leitstand.store.database import Database

if TYPE_CHECKING:
    from leitstand.downtimes import Happened

SOURCE = "downtimes"

NAMES = {
    "downtime.scheduled": "a monitoring core scheduled a downtime",
    "downtime.started": "a downtime began",
    "downtime.ended": "a downtime reached its end",
    "downtime.cancelled": "a user ended a running downtime",
    "downtime.removed": "a downtime was deleted, or ended, without having started",
}

FIELDS = {
    "kind": "host or service",
    "host": "the host's name",
    "service": "the service's description, or null",
    "downtime_id": "the core's number of it",
    "start": "when it is to start, or may start if it is flexible",
    "end": "when that time ends",
    "fixed": "whether it is fixed, not flexible",
    "author": "who scheduled it",
    "comment": "why",
    "at": "when this happened, by the core's clock",
    "reaped": "whether the core did not say so: Leitstand has closed what was overdue",
}


def downtime_entries() -> Iterator[CatalogueEntry]:
    """What the catalogue says about them."""
    for name, meaning in NAMES.items():
        yield CatalogueEntry(name, meaning, SOURCE, FIELDS)


class DowntimeEvents:
    """Announces what happened to downtimes as events, which start jobs.

    A happening's identity is the event's ``message_id``: what is announced again is not stored
    again.
    """

    def __init__(self, database: Database, events: EventQueue) -> None:
        self._database = database
        self._events = events

    async def announce(self, happenings: "Sequence[Happened]") -> None:
        """Store the events, all or none. Raises DatabaseUnavailableError."""
        async with self._database.transaction() as connection:
            await self._events.emit_in(connection, [_event(one) for one in happenings])


def _event(happened: "Happened") -> NewEvent:
    at = happened.payload["at"]
    return NewEvent(
        happened.name,
        SOURCE,
        happened.payload,
        None if at is None else datetime.fromisoformat(at),
        message_id=happened.identity,
    )
