"""The rollout rule: it never changes, and more per cent never turn anybody off."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.flags import Flag, Reason, bucket
from leitstand.flags.rollout import decide, evaluate_known, fnv1a

GOLDEN = Path(__file__).parent / "golden/buckets.tsv"


def test_the_hash_is_fnv_1a() -> None:
    """Vectors of its authors (test_fnv.c)."""
    vectors = {b"": 0x811C9DC5, b"a": 0xE40C292C, b"foobar": 0xBF9CF968}
    assert {data: fnv1a(data) for data in vectors} == vectors


def test_nobody_ever_changes_place() -> None:
    """Case 57: the file was written by another implementation."""
    rows = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 200
    assert [(key, tenant, bucket(key, tenant)) for key, tenant, _ in rows] == [
        (key, tenant, int(place)) for key, tenant, place in rows
    ]


@given(
    key=st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True),
    tenant=st.text(),
    low=st.integers(0, 100),
    high=st.integers(0, 100),
)
def test_more_never_turns_off(key: str, tenant: str, low: int, high: int) -> None:
    low, high = sorted((low, high))
    before, _ = decide(Flag(key, rollout_percentage=low), tenant)
    after, _ = decide(Flag(key, rollout_percentage=high), tenant)
    assert (before, after) != (True, False)
    assert decide(Flag(key, rollout_percentage=100), tenant)[0]
    assert not decide(Flag(key), tenant)[0]


@pytest.mark.parametrize(
    ("flag", "tenant", "value", "reason"),
    [
        (Flag("f", enabled=True), "a", True, Reason.STATIC),
        (Flag("f", enabled=True), None, True, Reason.STATIC),
        (Flag("f", target_tenants=frozenset("a")), "a", True, Reason.TARGETING_MATCH),
        (Flag("f", target_tenants=frozenset("a")), "b", False, Reason.DEFAULT),
        (Flag("f", False, 100, frozenset("a")), "a", True, Reason.TARGETING_MATCH),
        (Flag("f", rollout_percentage=100), "b", True, Reason.SPLIT),
        (Flag("f", rollout_percentage=100), None, False, Reason.DEFAULT),
    ],
)
def test_the_first_that_applies(
    flag: Flag, tenant: str | None, value: bool, reason: Reason
) -> None:
    assert decide(flag, tenant) == (value, reason)


def test_what_is_not_known() -> None:
    assert evaluate_known({}, "f", "a", stale=False).reason is Reason.UNKNOWN
    assert evaluate_known(None, "f", "a", stale=True).reason is Reason.ERROR
    known = {"f": Flag("f", enabled=True)}
    assert evaluate_known(known, "f", "a", stale=True).as_dict() == {
        "key": "f",
        "tenant": "a",
        "value": True,
        "reason": "STALE",
        "stale": True,
    }
