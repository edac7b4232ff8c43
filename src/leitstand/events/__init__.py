"""Events: what happened, where it is announced, and how many become one."""

from leitstand.events.catalogue import Catalogue, CatalogueEntry
from leitstand.events.coalescing import Gathered, joined, run_event
from leitstand.events.event import Event, EventState, NewEvent
from leitstand.events.event_name import EventName
from leitstand.events.queue import EventQueue, EventRefusedError, PayloadTooLongError, Waiting
from leitstand.events.run_outcome import outcome_entries, outcome_event

__all__ = [
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
    "joined",
    "outcome_entries",
    "outcome_event",
    "run_event",
]
