"""Which objects are read next, and how many."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.integrity.quota import LARGEST, Quota, SizeError, parse_size
from leitstand.archive.integrity.sample import sample

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
KEYS = st.lists(st.binary(max_size=2), unique=True, max_size=60)
AGES = st.integers(-30, 100)


@given(KEYS, st.lists(AGES | st.none(), min_size=60, max_size=60), st.integers(0, 70), st.data())
def test_the_sample_is_the_head_of_the_sorted_inventory(
    keys: list[bytes], ages: list[int | None], size: int, data: st.DataObject
) -> None:
    """Never checked first, then the longest unchecked, ties by key; any order of the input."""
    checked = {
        key: NOW - timedelta(hours=age)
        for key, age in zip(keys, ages, strict=False)
        if age is not None
    }
    early = datetime.min.replace(tzinfo=UTC)
    due = [key for key in keys if key not in checked or abs(NOW - checked[key]) >= DAY]
    expected = sorted(due, key=lambda key: (checked.get(key, early), key))[:size]
    assert sample(keys, checked, DAY, size, NOW) == expected
    shuffled = data.draw(st.permutations(keys))
    assert sample(shuffled, checked, DAY, size, NOW) == expected


def test_the_cooldown_ends_exactly_when_it_is_over() -> None:
    checked = {b"a": NOW - DAY, b"b": NOW - DAY + timedelta(microseconds=1)}
    assert sample([b"a", b"b"], checked, DAY, 10, NOW) == [b"a"]


def test_runs_one_after_the_other_reach_everything() -> None:
    keys = [b"%02d" % number for number in range(25)]
    checked: dict[bytes, datetime] = {}
    for run in range(3):
        now = NOW + run * timedelta(hours=1)
        checked |= dict.fromkeys(sample(keys, checked, DAY, 10, now), now)
    assert sorted(checked) == keys
    assert sample(keys, checked, DAY, 10, NOW + timedelta(hours=3)) == []


@pytest.mark.parametrize(
    ("text", "size"),
    [("500", 500), ("50MB", 50_000_000), ("1.5 GiB", 1610612736), ("2k", 2000), ("10MB/s", 10**7)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 PB", "1.2.3", "101%", "x%"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(SizeError):
        Quota.parse(text)


def test_quotas() -> None:
    assert Quota.parse("10").objects(1000, 500) == 10
    assert Quota.parse("5%").objects(1000, 20) == 30
    assert Quota.parse("5%").objects(1000, 70) == 0
    assert Quota.parse("100%").objects(10**7, 0) == LARGEST
    assert Quota.parse("2GB").bytes_left(500_000_000) == 1_500_000_000
    assert Quota.parse("2GB").objects(7, 3) == LARGEST
