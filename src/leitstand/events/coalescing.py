"""Makes one of many: the event that a run gets for all those that waited for it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.events.event import Event

LISTED = 20
"""Events that a run's list holds, the newest ones; all of them are counted."""

LIST_LIMIT = 256 * 1024
"""Characters of the list at most, as JSON; the newest event is in it whatever its size."""


@dataclass(frozen=True)
class Gathered:
    """Events of one name: how many, when the first and the last occurred, the newest of them.

    ``newest`` are at least one and at most ``LISTED``, in the order in which they were stored.
    """

    count: int
    first_at: datetime
    last_at: datetime
    newest: Sequence[Event]


def run_event(gathered: Gathered, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a run gets of these events, and of those that ``before`` stood for already.

    The payload is that of the event stored last, whichever of the two has it. Events of another
    name in ``before`` (the job listened to something else then) are dropped.
    """
    latest = gathered.newest[-1]
    if before is None or before.get("name") != latest.name:
        before = None
    earlier = [] if before is None else before.get("events", [])
    listed = sorted([*earlier, *map(_listed, gathered.newest)], key=lambda each: int(each["id"]))
    top = listed[-1]
    return {
        "id": top["id"],
        "name": latest.name,
        "source": top["source"],
        "occurred_at": top["occurred_at"],
        "payload": top["payload"],
        "count": gathered.count + (0 if before is None else before["count"]),
        "first_at": _first(gathered, before),
        "last_at": _last(gathered, before),
        "events": _within_limit(listed[-LISTED:]),
    }


def _listed(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "source": event.source,
        "occurred_at": event.occurred_at.isoformat(),
        "payload": event.payload,
    }


def _first(gathered: Gathered, before: Mapping[str, Any] | None) -> str:
    first = gathered.first_at
    if before is not None:
        first = min(first, datetime.fromisoformat(before["first_at"]))
    return first.isoformat()


def _last(gathered: Gathered, before: Mapping[str, Any] | None) -> str:
    last = gathered.last_at
    if before is not None:
        last = max(last, datetime.fromisoformat(before["last_at"]))
    return last.isoformat()


def _within_limit(listed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest of them that fit."""
    kept: list[dict[str, Any]] = []
    room = LIST_LIMIT
    for each in reversed(listed):
        room -= len(json.dumps(each, ensure_ascii=False, default=str))
        if kept and room < 0:
            break
        kept.append(each)
    return kept[::-1]
