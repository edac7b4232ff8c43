"""Events: what happened, where it is announced, and how many become one."""

from leitstand.events.catalogue import OF_A_RULE, Catalogue, CatalogueEntry
from leitstand.events.coalescing import Gathered, added_since, joined, run_event
from leitstand.events.event import Event, EventState, NewEvent
from leitstand.events.event_name import EventName
from leitstand.events.queue import (
    PAYLOAD_LIMIT,
    EventQueue,
    EventRefusedError,
    PayloadTooLongError,
    Waiting,
    payload_length,
)
from leitstand.events.run_outcome import outcome_entries, outcome_event

__all__ = [
    "OF_A_RULE",
    "PAYLOAD_LIMIT",
    "Catalogue",
    "CatalogueEntry",
    "Event",
    "EventName",
    "EventQueue",
    "EventRefusedError",
    "EventState",
    "Gathered",
    "NewEvent",
    "PayloadTooLongError",
    "Waiting",
    "added_since",
    "joined",
    "outcome_entries",
    "outcome_event",
    "payload_length",
    "run_event",
]
