"""Makes the payload of an event from the body of a call."""

import json
from typing import Any, NoReturn

from leitstand.errors import UsageError
from leitstand.events.queue import PAYLOAD_LIMIT, payload_length

ALERTMANAGER_VERSION = "4"

DEEPEST = 64
"""Objects and lists within each other; those who read the payload later get no deeper ones."""


class NotJsonError(UsageError):
    """The body is no JSON object."""

    code = "NOT_JSON"


def payload_of(body: bytes) -> dict[str, Any]:
    """The body, which must be a JSON object in UTF-8; raises NotJsonError.

    Of a group of alerts those stay for which there is room.
    """
    try:
        document = json.loads(body.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or _is_deeper(document, DEEPEST):
        raise NotJsonError(
            "the body is no JSON object, or one that is nested too deeply",
            remedy="Send one, in UTF-8.",
        )
    return _with_room(document) if _is_alertmanager(document) else document


def _is_deeper(value: object, limit: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(_is_deeper(each, limit - 1) for each in inner)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _is_alertmanager(document: dict[str, Any]) -> bool:
    """Whether it is a notification as Alertmanager's ``webhook_config`` documents it."""
    return document.get("version") == ALERTMANAGER_VERSION and isinstance(
        document.get("alerts"), list
    )


def _with_room(document: dict[str, Any]) -> dict[str, Any]:
    """With as many alerts, from the first on, as a payload can hold.

    Those that are left out are counted where Alertmanager counts those that it leaves out itself
    (``max_alerts``): refused, the whole group would be lost, as it does not repeat what is refused.
    """
    alerts: list[Any] = document["alerts"]
    kept = len(alerts)
    room = PAYLOAD_LIMIT - payload_length({**document, "alerts": [], "truncatedAlerts": 10**9})
    for count, alert in enumerate(alerts):
        room -= payload_length(alert) + 1
        if room < 0:
            kept = count
            break
    if kept == len(alerts):
        return document
    before = document.get("truncatedAlerts")
    left_out = len(alerts) - kept + (before if isinstance(before, int) else 0)
    return {**document, "alerts": alerts[:kept], "truncatedAlerts": left_out}
