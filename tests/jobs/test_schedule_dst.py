"""Schedules across changes of the clocks, compared with what a person would write down."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import pytest

from leitstand.jobs.misfire import next_on_edit
from leitstand.jobs.schedule import Schedule
from leitstand.jobs.wall_clock import first_change, moment_of
from tests.jobs.cron_oracle import slots
from tests.jobs.cron_samples import cron_samples
from tests.jobs.schedules import at, cron, local, next_times, shown

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "America/Havana",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Nuuk",
)
"""Changes by 30 and 60 minutes, in both hemispheres, by day and up to, at and from midnight."""

EXPRESSIONS = cron_samples(400, seed=34)


@cache
def changes(zone: str) -> tuple[datetime, ...]:
    """All changes of the zone's clocks in 2024 to 2028."""
    found = []
    moment, end = (datetime(year, 1, 1, tzinfo=UTC) for year in (2024, 2029))
    while change := first_change(moment, end, ZoneInfo(zone)):
        found.append(change)
        moment = change
    return tuple(found)


def test_the_fuzz_meets_enough_changes() -> None:
    assert all(len(changes(zone)) == 10 for zone in ZONES)


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("30 2 * * *", "2026-10-24 12:00", ["10-25 02:30+0200", "10-26 02:30+0100"]),
        ("30 2 * * *", "2026-03-28 12:00", ["03-29 03:00+0200", "03-30 02:30+0200"]),
        ("0 2 * * *", "2026-03-28 12:00", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        ("30 2,3 * * *", "2026-03-28 12:00", ["03-29 03:00+0200", "03-29 03:30+0200"]),
        ("0 2,3 * * *", "2026-03-28 12:00", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        ("*/15 2 * * *", "2026-03-28 12:00", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        (
            "*/30 * * * *",
            "2026-10-25 01:30",
            ["10-25 02:00+0200", "10-25 02:30+0200", "10-25 02:00+0100", "10-25 02:30+0100"],
        ),
        ("*/30 * * * *", "2026-03-29 01:00", ["03-29 01:30+0100", "03-29 03:00+0200"]),
        (
            "*/30 2 * * *",
            "2026-10-25 01:30",
            ["10-25 02:00+0200", "10-25 02:30+0200", "10-26 02:00+0100"],
        ),
    ],
)
def test_berlin(expression: str, after: str, expected: list[str]) -> None:
    """Cases 30, 31 and 32."""
    zone = "Europe/Berlin"
    found = next_times(cron(expression, zone), local(after, zone), len(expected))
    assert shown(found, zone) == [f"2026-{time}" for time in expected]


@pytest.mark.parametrize("expression", ["0 0 * * *", "0 0 * * 0"])
def test_santiago_has_no_midnight_on_a_sunday(expression: str) -> None:
    """Case 35: 01:00 that day, once."""
    zone = "America/Santiago"
    after = local("2026-09-05 12:00", zone)
    first, second = next_times(cron(expression, zone), after, 2)
    assert shown([first], zone) == ["2026-09-06 01:00-0300"]
    assert second - first >= timedelta(hours=23)


def test_asked_within_the_repeated_hour() -> None:
    """A daily job that is asked for its next time in the second 02:10 is due tomorrow."""
    zone = "Europe/Berlin"
    schedule = cron("30 2 * * *", zone)
    for text in ("2026-10-25 02:10", "2026-10-25 02:30", "2026-10-25 02:50"):
        asked = local(text, zone, fold=1)
        assert shown(next_times(schedule, asked, 1), zone) == ["2026-10-26 02:30+0100"]


@pytest.mark.parametrize("zone", ZONES)
def test_fuzz_always_advances(zone: str) -> None:
    """Case 34: 8 zones x all changes 2024-2028 x 400 expressions, also asked in fold=1."""
    random = Random(zone)
    for expression in EXPRESSIONS:
        schedule = cron(expression, zone)
        for change in changes(zone):
            # Half of the questions fall before the change, half into what may be repeated time.
            asked = change + random.uniform(-1, 1) * timedelta(hours=1)
            following = schedule.next_after(asked)
            assert following is not None
            assert following > asked


@pytest.mark.parametrize("zone", ZONES)
def test_fuzz_agrees_with_the_oracle(zone: str) -> None:
    """Case 34: the slots of two days around a change, found minute by minute."""
    random = Random(zone)
    for expression in random.sample(EXPRESSIONS, 15):
        after = random.choice(changes(zone)) - timedelta(hours=20)
        until = after + timedelta(days=2)
        expected = slots(expression, ZoneInfo(zone), after, until)
        schedule = cron(expression, zone)
        assert list(between(schedule, after, until)) == expected, (expression, after)
        assert schedule.count(after, until) == len(expected)


def between(schedule: Schedule, after: datetime, until: datetime) -> Iterator[datetime]:
    slot = schedule.next_after(after)
    while slot is not None and slot <= until:
        yield slot
        slot = schedule.next_after(slot)


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2026-03-29"),
        ("Europe/Berlin", "2026-10-25"),
        ("Africa/Cairo", "2026-04-24"),
    ],
)
def test_saved_at_any_hour_of_a_change_day(zone: str, day: str) -> None:
    """Case 40: always accepted, and due in the future at the time that was written."""
    start = local(day, zone) - timedelta(hours=2)
    for hour in range(30):
        now = start + timedelta(hours=hour)
        following = next_on_edit(cron("0 2 * * *", zone, anchor=now), now)
        assert following is not None
        assert now < following <= now + timedelta(hours=25)
        wall = following.astimezone(ZoneInfo(zone))
        assert (wall.hour, wall.minute) in {(2, 0), (3, 0)}


def test_the_day_that_apia_skipped() -> None:
    """A daily job runs for 2011-12-30 at the first moment after it, and an hourly one goes on."""
    zone = "Pacific/Apia"
    after = local("2011-12-29 22:30", zone)
    assert shown(next_times(cron("0 12 * * *", zone), after, 2), zone) == [
        "2011-12-31 00:00+1400",
        "2011-12-31 12:00+1400",
    ]
    hourly = next_times(cron("0 * * * *", zone), after, 20)
    assert {b - a for a, b in pairwise(hourly)} == {timedelta(hours=1)}
    assert cron("0 12 * * *", zone).count(after, after + timedelta(days=3)) == 4


def test_lord_howe_shifts_by_half_an_hour() -> None:
    zone = "Australia/Lord_Howe"
    spring = next_times(cron("45 * * * *", zone), local("2026-10-04 01:00", zone), 3)
    assert shown(spring, zone) == [
        f"2026-10-04 {t}" for t in ("01:45+1030", "02:45+1100", "03:45+1100")
    ]
    skipped = next_times(cron("15 2 * * *", zone), local("2026-10-03 12:00", zone), 1)
    assert shown(skipped, zone) == ["2026-10-04 02:30+1100"]


def test_once_in_a_gap_and_in_a_repeated_hour() -> None:
    zone = "Europe/Berlin"
    before = local("2026-01-01", zone)
    for text, expected in (
        ("2026-03-29 02:30", "2026-03-29 03:00+0200"),
        ("2026-10-25T02:30", "2026-10-25 02:30+0200"),
    ):
        assert shown(next_times(at(text, zone), before, 2), zone) == [expected]


def test_changes_are_found_to_the_second() -> None:
    """Paris went from its local mean time to that of Greenwich, 9 min 21 s behind, in 1911."""
    zone = ZoneInfo("Europe/Paris")
    year = [datetime(1911, month, 1, tzinfo=UTC) for month in (1, 12)]
    change = first_change(year[0], year[1], zone)
    assert change == datetime(1911, 3, 10, 23, 50, 39, tzinfo=UTC)
    assert first_change(change, year[1], zone) is None
    assert moment_of(datetime.fromisoformat("1911-03-11"), zone) <= change + timedelta(minutes=10)
