"""Schedules other than cron's: intervals, single times, none; and what is no schedule at all."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.trigger import ScheduleError, Trigger, TriggerType
from tests.jobs.schedules import START, at, cron, every, local, next_times

FIRST, LAST = (datetime.fromisoformat(day) for day in ("2000-01-01", "2050-01-01"))
moments = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
intervals = st.timedeltas(timedelta(seconds=1), timedelta(days=400))
TINY = timedelta(microseconds=1)


@given(moments, moments, intervals)
def test_every_slot_is_on_the_grid(anchor: datetime, t: datetime, interval: timedelta) -> None:
    """Slot n is anchor + n x interval, and no slot is left out."""
    schedule = every(f"{interval.total_seconds():.6f}", anchor)
    following = schedule.next_after(t)
    assert following is not None
    assert following > t
    assert (following - anchor) % interval == timedelta(0)
    assert following == anchor or following - interval <= t


@given(moments, moments, intervals)
def test_intervals_are_counted_exactly(anchor: datetime, t: datetime, interval: timedelta) -> None:
    schedule = every(f"{interval.total_seconds():.6f}", anchor)
    first = schedule.next_after(t)
    assert first is not None
    assert schedule.count(t, first - TINY) == 0
    assert schedule.count(t, first) == 1
    assert schedule.count(t, first + 1000 * interval) == 1001


def test_an_interval_knows_no_time_zone() -> None:
    """Elapsed time: six hours stay six hours when the clocks change."""
    anchor = local("2026-10-24 20:00", "Europe/Berlin")
    times = next_times(every("6h", anchor), anchor, 4)
    assert times == [anchor + n * timedelta(hours=6) for n in (1, 2, 3, 4)]


def test_no_slot_follows_the_last_year() -> None:
    assert every("300d").next_after(datetime(9999, 12, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize("text", ["0", "-5", "", "soon", "10ms", "9" * 400, "99999999999999w"])
def test_what_is_no_interval(text: str) -> None:
    assert_refused(TriggerType.EVERY, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00"),
        ("2026-10-25t01:30:00z", "2026-10-25T01:30:00"),
        ("2026-10-25T01:30:00.25Z", "2026-10-25T01:30:00.250000"),
        ("2026-06-01T12:00", "2026-06-01T10:00:00"),
        ("2026-06-01 12:00:30", "2026-06-01T10:00:30"),
    ],
)
def test_once(text: str, expected: str) -> None:
    schedule = at(text, "Europe/Berlin")
    moment = datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert schedule.next_after(START) == moment
    assert schedule.next_after(moment) is None
    assert schedule.count(START, moment) == 1
    assert schedule.count(moment, moment + timedelta(days=9)) == 0


@pytest.mark.parametrize(
    "text",
    [
        *("", "tomorrow", "2026-10-25", "20261025T0230", "2026-W43-7T02:30", "12:00"),
        *("2026-02-30T00:00", "2026-10-25T24:30", "2026-10-25T02:30:60Z"),
        *("0001-01-01T00:00:00+10:00", "2026-10-25T02:30:00+25:00"),
    ],
)
def test_what_is_no_date_and_time(text: str) -> None:
    assert_refused(TriggerType.AT, text)


@pytest.mark.parametrize("kind", [TriggerType.MANUAL, TriggerType.EVENT])
def test_what_has_no_schedule_is_never_due(kind: TriggerType) -> None:
    schedule = build_schedule(Trigger(kind, "", "UTC", "archived"), START)
    assert schedule.next_after(START) is None
    assert schedule.count(START, START + timedelta(days=1)) == 0


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Europe",
        "europe/berlin",
        "Mars/Phobos",
        "../etc/passwd",
        "/etc/passwd",
        "x\0",
        "localtime",
    ],
)
@pytest.mark.parametrize("kind", TriggerType)
def test_an_unknown_time_zone_is_refused_for_every_trigger(kind: TriggerType, name: str) -> None:
    assert_refused(kind, "0 0 * * *", name)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "Etc/GMT+5"])
def test_a_cron_schedule_in_its_zone(zone: str) -> None:
    midnight = next_times(cron("0 0 * * *", zone), START, 1)[0]
    assert midnight == local("2024-01-02", zone) or midnight == local("2024-01-01", zone)


def test_a_trigger_as_json() -> None:
    trigger = Trigger(TriggerType.CRON, "0 4 * * *", "Europe/Berlin")
    assert trigger.as_dict() == {
        "type": "cron",
        "expression": "0 4 * * *",
        "timezone": "Europe/Berlin",
        "event": None,
    }
    assert Trigger(TriggerType.EVENT, "", "UTC", "x").as_dict()["expression"] is None


def assert_refused(kind: TriggerType, expression: str, zone: str = "UTC") -> None:
    with pytest.raises(ScheduleError) as caught:
        build_schedule(Trigger(kind, expression, zone), START)
    assert caught.value.code == "INVALID_SCHEDULE"
    assert caught.value.remedy
