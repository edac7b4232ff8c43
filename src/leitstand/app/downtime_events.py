"""Leitstand's own events about downtimes: what they are called, and their way into the queue."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leitstand.events import CatalogueEntry, EventQueue, NewEvent
from leitstand.store.database import Database

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
}


def downtime_entries() -> Iterator[CatalogueEntry]:
    """What the catalogue says about them."""
    for name, meaning in NAMES.items():
        yield CatalogueEntry(name, meaning, SOURCE, FIELDS)


class DowntimeEvents:
    """Announces what happened to downtimes as events, which start jobs."""

    def __init__(self, database: Database, events: EventQueue) -> None:
        self._database = database
        self._events = events

    async def announce(self, happenings: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Store the events, all or none."""
        stored = [NewEvent(name, SOURCE, payload, payload["at"]) for name, payload in happenings]
        async with self._database.transaction() as connection:
            await self._events.emit_in(connection, stored)
