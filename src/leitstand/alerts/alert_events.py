"""The events that start jobs when people are told that an alert fires, or that it is over."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from leitstand.events import (
    OF_A_RULE,
    PAYLOAD_LIMIT,
    CatalogueEntry,
    NewEvent,
    payload_length,
)

SOURCE = "alerts"

DESCRIPTION_LIMIT = 4_000
"""Characters of a rule's description."""

FIELDS = {
    "rule": "the rule's name",
    "state": "firing or resolved",
    "description": "what the rule means, as it says",
    "metric": "the metric's name",
    "value": "the value, or null",
    "comparison": "gt, lt or absent",
    "threshold": "what the value is compared with, or null",
    "labels": "the series' labels; none if there is no room for them",
    "since": "when it began",
    "ended": "when it was over, or null",
    "reason": "why it is over, or null",
    "fingerprint": "the same for all that is told of the series",
}

_MEANINGS = {
    "firing": "an alert fires, and people are told so for the first time",
    "resolved": "an alert is over of which people were told",
}

Listened = Callable[[], Awaitable[Collection[str]]]
"""Tells the names of the events that enabled jobs listen to."""


async def nobody_listens() -> Collection[str]:
    """For where there are no jobs."""
    return ()


def alert_entries() -> Iterator[CatalogueEntry]:
    """What the catalogue says about them: for any rule, and for a certain one."""
    for state, meaning in _MEANINGS.items():
        name = f"alert.{state}"
        yield CatalogueEntry(name, f"{meaning}, of any rule", SOURCE, FIELDS)
        yield CatalogueEntry(name + OF_A_RULE, f"{meaning}, of the rule RULE", SOURCE, FIELDS)


def of_alerts(listened: Collection[str]) -> set[str]:
    """Those of these events that could be of an alert."""
    return {name for name in listened if name.startswith("alert.")}


def alert_events(
    told: Mapping[str, Any], at: datetime, listened: Collection[str]
) -> Iterator[NewEvent]:
    """The events for what people are ``told``, as far as somebody listens.

    An alert is never lost for the sake of its event: what has no room is cut, or left out.
    """
    name = f"alert.{told['state']}"
    for each in (name, f"{name}:{told['rule']}"):
        if each in listened:
            yield NewEvent(each, SOURCE, _within_limit(told), at)


def _within_limit(told: Mapping[str, Any]) -> Mapping[str, Any]:
    short = {**told, "description": told["description"][:DESCRIPTION_LIMIT]}
    return short if payload_length(short) <= PAYLOAD_LIMIT else {**short, "labels": {}}
