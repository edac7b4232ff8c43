"""Decoding: what cores send, in all its encodings and types, and what nobody should."""

import json
from typing import Any

import pytest

from leitstand.downtimes.downtime import Event, EventType, Kind
from leitstand.downtimes.message import LONGEST_MESSAGE, Problem, Rejected, decode
from leitstand.downtimes.transition import Why
from tests.downtimes.core import SERVICE, START, STOP, T, body, message
from tests.downtimes.fuzz import ruled


def decoded(document: Any) -> Event:
    (one,) = decode(body(document))
    assert isinstance(one, Event), one
    return one


def rejected(raw: bytes) -> Rejected:
    (one,) = decode(raw)
    assert isinstance(one, Rejected), one
    return one


def test_the_example_of_a_newer_broker() -> None:
    event = decoded(message(START, T, usec=123456))
    assert (event.type, event.timestamp, event.timestamp_usec) == (EventType.START, T, 123456)
    assert event.downtime.kind is Kind.HOST
    assert event.downtime.key("n") == ("host", "web01", "", "n", T, 42)


def test_an_older_sender_without_microseconds() -> None:
    document = message(START, T, duration=7200.0)
    del document["timestamp_usec"]
    event = decoded(document)
    assert event.timestamp_usec == 0
    assert event.downtime.duration == 7200
    assert event.document == document


@pytest.mark.parametrize(
    ("value", "stored"), [(7200.0, 7200), ("7200", 7200), ("7200.0", 7200), (None, None)]
)
def test_durations_that_mean_a_number(value: Any, stored: int | None) -> None:
    """Case 18."""
    assert decoded(message(START, T, duration=value)).downtime.duration == stored


@pytest.mark.parametrize("value", [4294967296, -1, 2**64 - 1])
def test_durations_that_no_table_holds(value: int) -> None:
    """Case 18."""
    bad = rejected(body(message(START, T, duration=value)))
    assert bad.problem is Problem.OUT_OF_RANGE
    assert str(value) in bad.detail


@pytest.mark.parametrize("name", ["downtime_id", "triggered_by", "start_time", "end_time"])
@pytest.mark.parametrize("value", [-1, 2**64, 1.5, "12a", True, [], {}, float("1e300")])
def test_numbers_that_are_none_or_out_of_range(name: str, value: Any) -> None:
    problem = rejected(body(message(START, T, **{name: value}))).problem
    assert problem in (Problem.OUT_OF_RANGE, Problem.WRONG_TYPE)


@pytest.mark.parametrize("value", ["2", 2.0, " 2 "])
def test_downtime_types_that_are_not_ambiguous(value: Any) -> None:
    """Case 19."""
    assert decoded(message(START, T, downtime_type=value)).downtime.kind is Kind.HOST


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"downtime": {"downtime_type": 0}}, Problem.UNKNOWN_DOWNTIME_TYPE),
        ({"downtime": {"downtime_type": 3}}, Problem.UNKNOWN_DOWNTIME_TYPE),
        ({"downtime": []}, Problem.NOT_A_MESSAGE),
        ({"downtime": None}, Problem.NOT_A_MESSAGE),
        ({"type": 1105}, Problem.UNKNOWN_EVENT),
        ({"type": 1099}, Problem.UNKNOWN_EVENT),
        ({"type": None}, Problem.MISSING_VALUE),
        ({"type": "START"}, Problem.WRONG_TYPE),
        ({"timestamp": None}, Problem.MISSING_VALUE),
        ({"timestamp": 2**63 - 1}, Problem.OUT_OF_RANGE),
        ({"downtime": {"host_name": None}}, Problem.MISSING_VALUE),
        ({"downtime": {"host_name": ""}}, Problem.MISSING_VALUE),
        ({"downtime": {"host_name": "h" * 256}}, Problem.OUT_OF_RANGE),
        ({"downtime": {"host_name": 7}}, Problem.WRONG_TYPE),
        ({"downtime": {"comment_data": ["a"]}}, Problem.WRONG_TYPE),
        ({"downtime": {"comment_data": "a\0b"}}, Problem.NUL_CHARACTER),
        ({"downtime": {"fixed": 2}}, Problem.OUT_OF_RANGE),
        ({"odd": json.loads("[" * 100 + "]" * 100)}, Problem.NOT_A_MESSAGE),
    ],
)
def test_what_is_missing_or_unknown(change: dict[str, Any], problem: Problem) -> None:
    """Case 19."""
    document = message(START, T)
    if isinstance(change.get("downtime"), dict):
        document["downtime"] |= change["downtime"]
    else:
        document |= change
    assert rejected(body(document)).problem is problem


def test_fields_that_nobody_knows_are_handed_on() -> None:
    document = message(START, T, odd=[[{"a": [[], []]}]] * 3)
    assert decoded(document).document == document


def test_services_need_a_description_and_hosts_do_not() -> None:
    """Case 20."""
    nameless = message(START, T, **{**SERVICE, "service_description": None})
    assert rejected(body(nameless)).problem is Problem.MISSING_VALUE
    host = decoded(message(START, T, service_description="HTTP"))
    assert host.downtime.key("n").service_description == ""
    assert host.downtime.kind is Kind.HOST


@pytest.mark.parametrize(("attr", "counts"), [(0, 0), (1, 1), (2, 2), (3, 3), (None, 0), ("2", 2)])
def test_attr_of_a_stop(attr: Any, counts: int) -> None:
    """Case 16."""
    assert decoded({**message(STOP, T), "attr": attr}).attr == counts
    assert decoded({**message(START, T), "attr": "nonsense"}).attr == 0


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"Ger\xe4t", "Gerät"),
        (b"\x80 100", "€ 100"),
        ("Gerät".encode() + b" und \xe4", "Gerät und ä"),
        ("🔧".encode() + b"\xfc", "🔧ü"),
        (b"\x81", "�"),
        (b"\\ud83d\\udd27", "🔧"),
        (b"a\\ud800b", "a�b"),
    ],
)
def test_comments_in_any_encoding(raw: bytes, text: str) -> None:
    """Case 4."""
    (one,) = decode(body(message(START, T)).replace(b"Patch day", raw))
    assert isinstance(one, Event)
    assert one.downtime.comment_data == text


def test_a_byte_order_mark_is_no_poison() -> None:
    assert isinstance(next(decode(b"\xef\xbb\xbf" + body(message(START, T)))), Event)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", Problem.NOT_JSON),
        (b"\0" * 100, Problem.NOT_JSON),
        (b'{"type": 1103', Problem.NOT_JSON),
        (b"[" * 100_000, Problem.NOT_JSON),
        (b'{"a":' * 100_000, Problem.NOT_JSON),
        (b'{"type": NaN}', Problem.NOT_JSON),
        (b'{"type": ' + b"9" * 10_000 + b"}", Problem.NOT_JSON),
        (b"7", Problem.NOT_A_MESSAGE),
        (b"[]", Problem.NOT_A_MESSAGE),
        (b'"' + b"x" * (10 * 1024 * 1024) + b'"', Problem.TOO_LONG),
        (b" " * (LONGEST_MESSAGE + 1), Problem.TOO_LONG),
        (b'{"messages": {}}', Problem.WRONG_TYPE),
    ],
)
def test_poison(raw: bytes, problem: Problem) -> None:
    """Case 21."""
    bad = rejected(raw)
    assert (bad.problem, bad.body) == (problem, raw)


def test_a_bulk_is_unpacked_in_order() -> None:
    """Case 22."""
    messages: list[Any] = [message(START, T, downtime_id=n) for n in range(200)]
    messages[76] = {"type": 1103, "downtime": "bad"}
    parts = list(decode(json.dumps({"messages": messages, "format": "none"}).encode()))
    assert [p.downtime.downtime_id for p in parts if isinstance(p, Event)] == [
        n for n in range(200) if n != 76
    ]
    bad = parts[76]
    assert isinstance(bad, Rejected)
    assert json.loads(bad.body) == messages[76]


def test_random_bytes_are_events_or_rejected() -> None:
    """A million by ``python -m tests.downtimes.fuzz``."""
    found = ruled(5000, seed=7)
    assert found[Why.NEW] > 100
    assert found[Problem.NOT_JSON] > 100
