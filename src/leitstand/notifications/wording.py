"""Says in words what a payload means: a subject and a body that need no template."""

from collections.abc import Iterable, Mapping
from typing import Any

MOST_TOLD = 50
"""Of what shares a message so many are told one by one; the rest is counted."""

Payload = Mapping[str, Any]


def plain_subject(channel: str, payloads: tuple[Payload, ...]) -> str:
    """One line that says what it is about."""
    first = _headline(channel, payloads[0])
    more = len(payloads) - 1
    return f"{first} (and {more} more)" if more else first


def plain_body(channel: str, payloads: tuple[Payload, ...]) -> str:
    """The facts, a line for each, of everything that is told."""
    told = [_told(channel, payload) for payload in payloads[:MOST_TOLD]]
    left = len(payloads) - len(told)
    rest = [f"{left} more are not listed here."] if left else []
    return "\n\n".join([*told, *rest]) + "\n"


def _headline(channel: str, payload: Payload) -> str:
    match channel:
        case "alert":
            state = str(payload.get("state", "firing")).upper()
            return f"[{state}] {payload.get('rule') or payload.get('metric', 'alert')}" + _where(
                payload.get("labels")
            )
        case "job":
            return f"[{str(payload.get('status', '')).upper()}] job {payload.get('job', '')}"
    said = payload.get("subject") or payload.get("message") or payload.get("title")
    return str(said) if said else "Leitstand notification"


def _where(labels: object) -> str:
    if not isinstance(labels, Mapping) or not labels:
        return ""
    return " " + ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _told(channel: str, payload: Payload) -> str:
    heading = _headline(channel, payload)
    return "\n".join([heading, *_facts(payload)])


def _facts(payload: Payload) -> Iterable[str]:
    for name, value in payload.items():
        if value not in (None, "", {}, []):
            yield f"{name}: {_in_words(value)}"


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)
