"""When a job may start: windows in every zone and over every clock change, told by the minute."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leitstand.jobs import Window, WindowPolicy, next_allowed
from leitstand.jobs.window_rule import waits_in_vain
from tests.jobs.windows import MINUTE, AnyJob, first_allowed_minute, moment, window

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Around a clock change of each zone: Berlin, New York, Lord Howe (half an hour), Apia (a day).
CHANGES = {
    "UTC": ["2026-02-28 12:00"],
    "Europe/Berlin": ["2026-03-28 12:00", "2026-10-24 12:00"],
    "America/New_York": ["2026-03-07 12:00", "2026-10-31 12:00"],
    "Australia/Lord_Howe": ["2026-10-03 12:00", "2026-04-04 12:00"],
    "Pacific/Apia": ["2011-12-29 12:00"],
    "America/Santiago": ["2026-09-05 12:00", "2026-04-04 12:00"],
}
THREE_DAYS = 3 * 24 * 60

clocks = st.one_of(
    st.sampled_from(["00:00", "01:30", "02:00", "02:15", "02:30", "03:00", "23:30"]),
    st.times().map(lambda clock: f"{clock:%H:%M}"),
)


@st.composite
def windows_and_times(draw: st.DrawFn) -> tuple[list[Window], datetime]:
    zone = draw(st.sampled_from(sorted(CHANGES)))
    begin = moment(draw(st.sampled_from(CHANGES[zone])), zone).astimezone(UTC)
    t = begin + draw(st.integers(0, 2 * 24 * 60)) * MINUTE
    return draw(st.lists(st.one_of(weekly(zone), dated(begin)), max_size=3)), t


@st.composite
def weekly(draw: st.DrawFn, zone: str) -> Window:
    begin = draw(clocks)
    end = draw(clocks.filter(lambda clock: clock != begin))
    return window(begin, end, draw(st.sampled_from(["", *DAYS, "sat-mon", "thu,sat"])), zone)


@st.composite
def dated(draw: st.DrawFn, begin: datetime) -> Window:
    start = begin + draw(st.integers(-600, 3000)) * MINUTE
    end = start + draw(st.integers(1, 1500)) * MINUTE
    return window(start.isoformat(), end.isoformat())


BERLIN_REPEATED = moment("2026-10-25 00:30", "Europe/Berlin").astimezone(UTC)


@settings(deadline=None)
@given(windows_and_times(), st.sampled_from([WindowPolicy.POSTPONE, WindowPolicy.ONLY]))
@example(([window("01:00", "02:30", "sun", "Europe/Berlin")], BERLIN_REPEATED), WindowPolicy.ONLY)
def test_the_first_allowed_moment_is_that_of_the_minute_by_minute_oracle(
    drawn: tuple[list[Window], datetime], policy: WindowPolicy
) -> None:
    windows, t = drawn
    expected = first_allowed_minute(t, policy, windows, THREE_DAYS)
    allowed = next_allowed(t, AnyJob(window_policy=policy), windows)
    if expected is not None:
        assert allowed.at == expected
        assert allowed.found
        assert bool(allowed.moved_by) == bool(allowed.reason) == (expected != t)
    else:
        assert not allowed.found or allowed.at >= t + THREE_DAYS * MINUTE


@settings(deadline=None)
@given(windows_and_times())
def test_an_allowed_moment_stays_where_it_is(drawn: tuple[list[Window], datetime]) -> None:
    windows, t = drawn
    for policy in WindowPolicy:
        job = AnyJob(window_policy=policy)
        allowed = next_allowed(t, job, windows)
        if allowed.found:
            again = next_allowed(allowed.at, job, windows)
            assert (again.at, again.reason) == (allowed.at, "")


def test_a_window_over_midnight() -> None:
    nightly = window("22:00", "04:00", "fri", "Europe/Berlin")
    for inside in ("2026-06-05 22:00", "2026-06-05 23:59", "2026-06-06 03:59"):
        allowed = next_allowed(moment(inside, "Europe/Berlin"), AnyJob(), [nightly])
        assert allowed.at == moment("2026-06-06 04:00", "Europe/Berlin")
        assert allowed.moved_by == ("w",)
        assert allowed.reason == "by window w to 2026-06-06 02:00:00 UTC"
    for outside in ("2026-06-05 03:00", "2026-06-05 21:59", "2026-06-06 04:00", "2026-06-06 23:00"):
        t = moment(outside, "Europe/Berlin")
        assert next_allowed(t, AnyJob(), [nightly]).at == t


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 1.0), ("2026-10-25", 3.0), ("2026-10-26", 2.0)]
)
def test_two_to_four_in_berlin_on_both_days_of_the_change(day: str, hours: float) -> None:
    """What clocks show counts: the missing hour is not in it, the repeated one is twice."""
    nightly = window("02:00", "04:00", zone="Europe/Berlin")
    begin = moment(f"{day} 01:59", "Europe/Berlin").astimezone(UTC) + MINUTE
    allowed = next_allowed(begin, AnyJob(), [nightly])
    assert allowed.at - begin == timedelta(hours=hours)


def test_windows_that_follow_each_other_move_together() -> None:
    windows = [
        window("01:00", "02:00", name="first"),
        window("02:00", "03:30", name="second"),
        window("04:00", "05:00", name="apart"),
    ]
    allowed = next_allowed(moment("2026-06-05 01:10"), AnyJob(), windows)
    assert allowed.at == moment("2026-06-05 03:30")
    assert allowed.moved_by == ("first", "second")
    assert allowed.reason == "by windows first and second to 2026-06-05 03:30:00 UTC"


def test_policies() -> None:
    nightly = window("22:00", "04:00")
    inside, outside = moment("2026-06-05 23:00"), moment("2026-06-05 12:00")
    run, only = (AnyJob(window_policy=policy) for policy in (WindowPolicy.RUN, WindowPolicy.ONLY))
    assert next_allowed(inside, run, [nightly]).at == inside
    assert next_allowed(inside, only, [nightly]).at == inside
    waits = next_allowed(outside, only, [nightly])
    assert waits.at == moment("2026-06-05 22:00")
    assert waits.reason == "until window w opens at 2026-06-05 22:00:00 UTC"


@pytest.mark.parametrize(
    ("scope", "concerned"),
    [
        ({}, True),
        ({"jobs": ["job"]}, True),
        ({"tags": ["web", "db"]}, True),
        ({"hosts": ["db1"]}, True),
        ({"jobs": ["other"], "hosts": ["db1"]}, True),
        ({"jobs": ["other"]}, False),
        ({"tags": ["web"]}, False),
        ({"hosts": ["db2"]}, False),
    ],
)
def test_whom_a_window_concerns(scope: dict[str, Any], concerned: bool) -> None:
    t = moment("2026-06-05 23:00")
    job = AnyJob(tags=("db",), host="db1")
    allowed = next_allowed(t, job, [window("22:00", "04:00", **scope)])
    assert (allowed.at != t) == concerned
    only = AnyJob(tags=("db",), host="db1", window_policy=WindowPolicy.ONLY)
    assert next_allowed(t, only, [window("22:00", "04:00", **scope)]).found == concerned


def test_a_job_without_host_is_not_concerned_by_hosts() -> None:
    t = moment("2026-06-05 23:00")
    assert next_allowed(t, AnyJob(), [window("22:00", "04:00", hosts=["db1"])]).at == t


@pytest.mark.parametrize(
    "windows",
    [
        [window("00:00", "24:00")],
        [window("06:00", "18:00"), window("18:00", "06:00")],
        [window("2026-01-01", "2027-06-01")],
    ],
)
def test_nothing_allowed_within_366_days_keeps_the_planned_time(windows: list[Window]) -> None:
    t = moment("2026-01-05 23:00")
    allowed = next_allowed(t, AnyJob(), windows)
    assert (allowed.at, allowed.found) == (t, False)
    assert "366 days" in allowed.reason


def test_366_days_are_looked_at_to_their_end() -> None:
    t = moment("2026-01-01")
    freeze = window("2026-01-01", "2027-01-02")
    assert next_allowed(t, AnyJob(), [freeze]).at == moment("2027-01-02")
    only = AnyJob(window_policy=WindowPolicy.ONLY)
    assert next_allowed(t, only, [window("2027-01-02", "2027-01-03")]).found
    too_late = next_allowed(t, only, [window("2027-01-03", "2027-01-04")])
    assert waits_in_vain(only, too_late)
    assert too_late.at == t


def test_a_window_that_the_clocks_leave_out_opens_a_week_later() -> None:
    gap = window("02:10", "02:50", "sun", "Europe/Berlin")
    only = AnyJob(window_policy=WindowPolicy.ONLY)
    allowed = next_allowed(moment("2026-03-28 12:00", "Europe/Berlin"), only, [gap])
    assert allowed.at == moment("2026-04-05 02:10", "Europe/Berlin")


def test_the_skipped_day_of_apia() -> None:
    """Its window's part before midnight does not exist; the part after it does."""
    friday = window("22:00", "04:00", "fri", "Pacific/Apia")
    begin = moment("2011-12-31 00:00", "Pacific/Apia")
    allowed = next_allowed(begin, AnyJob(), [friday])
    assert allowed.at == moment("2011-12-31 04:00", "Pacific/Apia")


def test_moments_of_any_zone_are_understood() -> None:
    t = moment("2026-06-05 23:00").astimezone(ZoneInfo("Asia/Tokyo"))
    allowed = next_allowed(t, AnyJob(), [window("22:00", "04:00")])
    assert allowed.at == moment("2026-06-06 04:00")
    assert allowed.at.tzinfo is UTC
