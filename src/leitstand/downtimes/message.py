"""Decodes what is on the queue: one message or a bulk of them, into events and rejections."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from leitstand.downtimes.downtime import Downtime, Event, EventType, Kind
from leitstand.downtimes.wire_text import encodable, wire_text

LONGEST_MESSAGE = 4 * 1024 * 1024
"""Bytes; a bulk of thousands of downtimes fits, what is longer is no downtime."""

LONGEST_NAME = 255
"""Characters of host and service names in the tables; a cut one would be another's."""

DEEPEST = 20
"""Arrays and objects within one another in fields that we do not know; a message is handed on as it
came, and what is nested much deeper can be read but not written again."""

UNSIGNED = 2**32 - 1
SIGNED_64 = 2**63 - 1
LATEST = SIGNED_64 - UNSIGNED
"""Unix seconds; a duration later is a time that databases can still reckon with."""

KINDS = {1: Kind.SERVICE, 2: Kind.HOST}
"""``downtime_type``; the inverse of what other messages of the same cores use."""

# At most 20 digits: more are out of every range, and Python refuses to convert thousands of them.
_NUMERAL = re.compile(r"\s*([+-]?\d{1,20})(?:\.0+)?\s*", re.ASCII)


class Problem(StrEnum):
    """Why a message cannot be used."""

    TOO_LONG = "too_long"
    NOT_JSON = "not_json"
    NOT_A_MESSAGE = "not_a_message"
    UNKNOWN_EVENT = "unknown_event"
    UNKNOWN_DOWNTIME_TYPE = "unknown_downtime_type"
    MISSING_VALUE = "missing_value"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    NUL_CHARACTER = "nul_character"
    REFUSED_BY_DATABASE = "refused_by_database"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A message that cannot be used: why, and its bytes."""

    problem: Problem
    detail: str
    body: bytes


class _BadMessageError(Exception):
    def __init__(self, problem: Problem, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


def decode(body: bytes) -> Iterator[Event | Rejected]:
    """What one delivery holds, in order; a bulk envelope is unpacked, each part judged alone."""
    try:
        document = _document(body)
        if "messages" not in document:
            yield _event(document)
            return
    except _BadMessageError as error:
        yield Rejected(error.problem, error.detail, body)
        return
    yield from _unpacked(document["messages"], body)


def _unpacked(messages: object, body: bytes) -> Iterator[Event | Rejected]:
    if not isinstance(messages, list):
        yield Rejected(Problem.WRONG_TYPE, "messages is no array", body)
        return
    for message in messages:
        try:
            yield _event(message)
        except _BadMessageError as error:
            yield Rejected(error.problem, error.detail, _written(message) or body)


def _written(message: object) -> bytes | None:
    """A part of a bulk as a message of its own; None if it is nested too deeply for that."""
    try:
        return json.dumps(message).encode()
    except RecursionError:
        return None


def _document(body: bytes) -> Mapping[str, Any]:
    if len(body) > LONGEST_MESSAGE:
        _refuse(Problem.TOO_LONG, f"{len(body)} bytes, more than {LONGEST_MESSAGE}")
    try:
        document = _JSON.decode(wire_text(body))
    except RecursionError:
        _refuse(Problem.NOT_JSON, "nested too deeply")
    except ValueError as error:
        _refuse(Problem.NOT_JSON, str(error))
    return _mapping(document, "the message")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_JSON = json.JSONDecoder(parse_constant=_no_number)


def _event(document: object) -> Event:
    envelope = _mapping(document, "the message")
    _refuse_depth(envelope)
    event_type = _event_type(envelope)
    return Event(
        type=event_type,
        attr=_attr(envelope, event_type),
        timestamp=_time(envelope, "timestamp"),
        timestamp_usec=_optional(envelope, "timestamp_usec", UNSIGNED) or 0,
        downtime=_downtime(_mapping(envelope.get("downtime"), "downtime")),
        document=envelope,
    )


_NESTED = frozenset((dict, list))


def _refuse_depth(value: Mapping[str, Any] | list[Any], room: int = DEEPEST) -> None:
    if room == 0:
        _refuse(Problem.NOT_A_MESSAGE, "nested too deeply")
    for inner in value if isinstance(value, list) else value.values():
        if type(inner) in _NESTED:
            _refuse_depth(inner, room - 1)


def _event_type(envelope: Mapping[str, Any]) -> EventType:
    number = _required(envelope, "type", SIGNED_64)
    try:
        return EventType(number)
    except ValueError:
        _refuse(Problem.UNKNOWN_EVENT, f"type is {number}")


def _attr(envelope: Mapping[str, Any], event_type: EventType) -> int:
    """``attr``, which only a STOP has a meaning for."""
    if event_type is not EventType.STOP or envelope.get("attr") is None:
        return 0
    return _integer(envelope["attr"], "attr")


def _downtime(given: Mapping[str, Any]) -> Downtime:
    number = _required(given, "downtime_type", SIGNED_64)
    kind = KINDS.get(number)
    if kind is None:
        _refuse(Problem.UNKNOWN_DOWNTIME_TYPE, f"downtime_type is {number}")
    service = _name(given, "service_description") if kind is Kind.SERVICE else ""
    return Downtime(
        kind=kind,
        host_name=_name(given, "host_name"),
        service_description=service,
        author_name=_text(given, "author_name"),
        comment_data=_text(given, "comment_data"),
        entry_time=_time(given, "entry_time"),
        start_time=_time(given, "start_time"),
        end_time=_time(given, "end_time"),
        triggered_by=_optional(given, "triggered_by", UNSIGNED),
        downtime_id=_required(given, "downtime_id", UNSIGNED),
        fixed=_flag(given, "fixed"),
        duration=_optional(given, "duration", UNSIGNED),
    )


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _refuse(Problem.NOT_A_MESSAGE, f"{what} is no object")
    return value


def _name(given: Mapping[str, Any], key: str) -> str:
    text = _text(given, key)
    if not text:
        _refuse(Problem.MISSING_VALUE, f"{key} is missing")
    if len(text) > LONGEST_NAME:
        _refuse(Problem.OUT_OF_RANGE, f"{key} has {len(text)} characters, at most {LONGEST_NAME}")
    return text


def _text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        _refuse(Problem.WRONG_TYPE, f"{key} is no text")
    if "\0" in value:  # no core can send one, and PostgreSQL cannot store it
        _refuse(Problem.NUL_CHARACTER, f"{key} holds a NUL character")
    return value if value.isascii() else encodable(value)


def _flag(given: Mapping[str, Any], key: str) -> bool:
    value = given.get(key)
    if isinstance(value, bool):
        return value
    return bool(_optional(given, key, 1))


def _time(given: Mapping[str, Any], key: str) -> int:
    return _required(given, key, LATEST)


def _required(given: Mapping[str, Any], key: str, most: int) -> int:
    number = _optional(given, key, most)
    if number is None:
        _refuse(Problem.MISSING_VALUE, f"{key} is missing")
    return number


def _optional(given: Mapping[str, Any], key: str, most: int) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    number = value if type(value) is int else _integer(value, key)
    if not 0 <= number <= most:
        _refuse(Problem.OUT_OF_RANGE, f"{key} is {_short(number)}, not within 0 to {most}")
    return number


def _integer(value: object, key: str) -> int:
    """The integer that a number or numeric string stands for: 7200, 7200.0, "7200"."""
    if type(value) is int:  # not a bool, which is one to isinstance
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (numeral := _NUMERAL.fullmatch(value)):
        return int(numeral[1])
    raise _BadMessageError(Problem.WRONG_TYPE, f"{key} is no integer: {_short(value)}")


def _short(value: object) -> str:
    """The beginning of a value as text that any database can keep."""
    if isinstance(value, list | dict):  # which may be nested too deeply to be written out
        return "an array" if isinstance(value, list) else "an object"
    try:
        text = ascii(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return "a huge number"
    return text if len(text) <= 40 else f"{text[:40]}…"


def _refuse(problem: Problem, detail: str) -> NoReturn:
    raise _BadMessageError(problem, detail)
