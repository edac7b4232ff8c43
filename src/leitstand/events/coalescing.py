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
    """What a run gets of these events, and of those that ``before`` stood for already."""
    latest = gathered.newest[-1]
    listed = [_listed(event) for event in gathered.newest]
    document = {
        **listed[-1],
        "name": latest.name,
        "count": gathered.count,
        "first_at": gathered.first_at.isoformat(),
        "last_at": gathered.last_at.isoformat(),
        "events": _within_limit(listed),
    }
    return joined(before, document)


def joined(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> dict[str, Any]:
    """What a run gets that stands for all events of both, each of which is the event of a run.

    The payload is that of the event stored last, whichever of the two has it. Events of another
    name in ``before`` (the job listened to something else then) are dropped.
    """
    if before is None or before["name"] != after["name"]:
        return dict(after)
    listed = sorted([*before["events"], *after["events"]], key=lambda each: int(each["id"]))
    return {
        **listed[-1],
        "name": after["name"],
        "count": before["count"] + after["count"],
        "first_at": min(before["first_at"], after["first_at"], key=datetime.fromisoformat),
        "last_at": max(before["last_at"], after["last_at"], key=datetime.fromisoformat),
        "events": _within_limit(listed[-LISTED:]),
    }


def added_since(
    event: Mapping[str, Any], before: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """What a run's event got beside ``before``, with which it began; None: nothing.

    Of more events than a run lists, the times are those of the listed ones.
    """
    if before is None or before["name"] != event["name"]:
        return dict(event)
    known = {each["id"] for each in before["events"]}
    listed = [each for each in event["events"] if each["id"] not in known]
    count = max(len(listed), event["count"] - before["count"])
    if count <= 0:
        return None
    if not listed:  # what was added is older than all that is listed
        return dict(event)
    times = sorted((each["occurred_at"] for each in listed), key=datetime.fromisoformat)
    return {
        **listed[-1],
        "name": event["name"],
        "count": count,
        "first_at": times[0],
        "last_at": times[-1],
        "events": listed,
    }


def _listed(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "source": event.source,
        "occurred_at": event.occurred_at.isoformat(),
        "payload": event.payload,
    }


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
