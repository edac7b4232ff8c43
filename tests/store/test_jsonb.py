"""Whatever comes from outside fits into jsonb."""

from datetime import UTC, datetime

import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from leitstand.store.jsonb import to_jsonb

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_awkward_values(conninfo: str) -> None:
    with psycopg.connect(conninfo) as connection:
        value = {
            "nul": "a\x00b",
            "six": r"\u0000",
            "surrogate": "\ud800",
            "nan": [float("nan"), float("inf"), 1.5],
            "time": datetime(2026, 12, 1, tzinfo=UTC),
        }
        row = connection.execute("SELECT %s", (to_jsonb(value),)).fetchone()
    assert row is not None
    assert row[0] == {
        "nul": "a\N{REPLACEMENT CHARACTER}b",
        "six": r"\u0000",
        "surrogate": "?",
        "nan": [None, None, 1.5],
        "time": "2026-12-01T00:00:00+00:00",
    }


def test_any_json_is_accepted(conninfo: str) -> None:
    with psycopg.connect(conninfo) as connection:

        @settings(max_examples=100, deadline=None)
        @given(json_values)
        def accepted(value: object) -> None:
            assert connection.execute("SELECT %s", (to_jsonb(value),)).fetchone() is not None

        accepted()
