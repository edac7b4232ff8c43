"""Ids of backups sort in the order of the backups, whatever the clock does."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.backup_id import BackupIdError, is_backup_id, next_id, time_of

NOW = datetime(2026, 12, 1, 17, 0, tzinfo=UTC)
times = st.integers(0, 250_000_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


@given(st.lists(times, min_size=1, max_size=20))
def test_ids_grow_whatever_the_clock_says(clock: list[datetime]) -> None:
    """Cases 36 and 38."""
    ids: list[str] = []
    for now in clock:
        ids.append(next_id(now, reversed(ids)).id)
    assert ids == sorted(set(ids))
    assert all(is_backup_id(name) for name in ids)


def test_two_in_one_second_get_two_ids() -> None:
    """Case 36."""
    first = next_id(NOW, [])
    second = next_id(NOW + timedelta(milliseconds=900), [first.id])
    assert (first.id, second.id) == ("20261201T170000Z", "20261201T170001Z")
    assert second.clock_behind is None


def test_a_clock_that_was_set_back_is_told() -> None:
    """Case 38."""
    found = next_id(NOW - timedelta(hours=1), ["20261201T170000Z"])
    assert found.id == "20261201T170001Z"
    assert found.clock_behind == timedelta(hours=1)


def test_the_time_zone_is_without_influence() -> None:
    """Case 35: the hour that New York has twice, and the same moment in other zones."""
    zone = ZoneInfo("America/New_York")
    before = datetime(2026, 11, 1, 1, 59, 59, tzinfo=zone)
    after = datetime(2026, 11, 1, 1, 0, 0, tzinfo=zone, fold=1)
    first = next_id(before, []).id
    assert (first, next_id(after, [first]).id) == ("20261101T055959Z", "20261101T060000Z")
    assert next_id(NOW.astimezone(timezone(timedelta(hours=9))), []).id == "20261201T170000Z"


@pytest.mark.parametrize(
    "name",
    [
        "20261301T000000Z",
        "20269912T000000Z",
        "20260101T250000Z",
        "20270229T000000Z",
        "20260630T235960Z",
        "00000101T000000Z",
        "\u0662\u0660260101T000000Z",
        "20261201T171500Z\n",
        "20261201T171500Z.partial",
        "lost+found",
        "",
    ],
)
def test_names_that_are_no_times_do_not_count(name: str) -> None:
    assert time_of(name) is None
    assert not is_backup_id(name)
    assert next_id(NOW, [name]).id == "20261201T170000Z"


def test_the_end_of_time_is_an_error() -> None:
    with pytest.raises(BackupIdError):
        next_id(NOW, ["99991231T235959Z"])
