"""Cron expressions: which are accepted, what they mean, and that neither changes unnoticed."""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leitstand.errors import LeitstandError
from leitstand.jobs.cron import NAMED
from leitstand.jobs.trigger import ScheduleError
from scripts.write_cron_golden import GOLDEN_FILE, golden_text
from tests.jobs.cron_oracle import slots
from tests.jobs.cron_samples import cron_samples
from tests.jobs.schedules import START, cron, local, next_times, shown

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
FIRST, LAST = (datetime.fromisoformat(day) for day in ("2024-01-01", "2027-01-01"))


def first_days(expression: str, count: int = 4) -> list[str]:
    return [f"{m:%m-%d}" for m in next_times(cron(expression), NOON, count)]


def test_golden_file_is_what_the_code_says() -> None:
    """Case 39: 500 expressions and their next 5 times; a change of meaning has to be reviewed."""
    text = GOLDEN_FILE.read_text()
    assert sum(not line.startswith("#") for line in text.splitlines()) == 500
    assert golden_text() == text


@pytest.mark.parametrize("expression", cron_samples(60, seed=39))
def test_times_are_those_of_the_oracle(expression: str) -> None:
    after = local("2026-01-30 12:00", "UTC")
    until = after + timedelta(days=4)
    expected = slots(expression, ZoneInfo("UTC"), after, until)
    assert [m for m in next_times(cron(expression), after, len(expected) + 1) if m <= until] == (
        expected
    )


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 15 * 1", ["06-15", "06-22", "06-29", "07-06"]),
        ("0 0 1 * 5", ["06-12", "06-19", "06-26", "07-01"]),
        ("0 0 */14 * 1", ["06-15", "06-29", "02-01", "02-15"]),
        ("0 0 13 * */6", ["06-13", "09-13", "12-13", "02-13"]),
    ],
)
def test_day_of_month_or_weekday(expression: str, days: list[str]) -> None:
    """Debian: ORed, unless one of the two begins with a star."""
    assert first_days(expression, len(days)) == days


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("@hourly", "2026-06-10 13:00+0000"),
        ("@daily", "2026-06-11 00:00+0000"),
        ("@midnight", "2026-06-11 00:00+0000"),
        ("@weekly", "2026-06-14 00:00+0000"),
        ("@monthly", "2026-07-01 00:00+0000"),
        ("@yearly", "2027-01-01 00:00+0000"),
        ("@annually", "2027-01-01 00:00+0000"),
        (" @Daily ", "2026-06-11 00:00+0000"),
    ],
)
def test_names(name: str, first: str) -> None:
    assert name.strip().lower() in NAMED
    assert shown(next_times(cron(name), NOON, 1), "UTC") == [first]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 0 30 2 *", "never comes"),
        ("30 2 30 2 *", "never comes"),
        ("0 0 31 4,6 *", "never comes"),
        ("0 0 31 2,4,6,9,11 *", "never comes"),
        ("0 0 */31 * 1#5", "never comes"),
        ("0 0 32 * *", "bad day-of-month"),
        ("0 0 0 * *", "bad day-of-month"),
        ("0 0 * 13 *", "bad month"),
        ("0 0 30 13 *", "bad month"),
        ("60 * * * *", "bad minute"),
        ("* 24 * * *", "bad hour"),
        ("* * * * 8", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("5-1 * * * *", "bad minute"),
        ("1,,2 * * * *", "bad minute"),
        ("-1 * * * *", "bad minute"),
        ("5-5/10 * * * *", "nothing to step over"),
        ("1,05-5/10 * * * *", "nothing to step over"),
        ("0 0 * JAN-1/2 *", "nothing to step over"),
        ("0 0 * * sun-0/2", "nothing to step over"),
        ("0 0 L/2 * *", "nothing to step over"),
        ("", "0 fields"),
        ("* * * *", "4 fields"),
        ("0 0 2 * * *", "6 fields"),
        ("0 0 * * * 2030", "6 fields"),
        ("@reboot", "no cron expression"),
        ("@every 5m", "no cron expression"),
        ("٣ * * * *", "bad minute"),
        ("0 0 * * ²L", "bad day-of-week"),
        ("9" * 5000 + " * * * *", "5008 characters"),
    ],
)
def test_what_is_refused_when_saved(expression: str, said: str) -> None:
    """Case 38, and the guards of the specification: refused with a remedy."""
    with pytest.raises(ScheduleError) as caught:
        cron(expression)
    assert said in caught.value.message
    assert caught.value.code == "INVALID_SCHEDULE"
    assert caught.value.remedy


def test_29_february_is_accepted_and_previewed() -> None:
    """Case 38: three years ahead, and eight where a century has no such day."""
    schedule = cron("0 0 29 2 *")
    after = local("2026-01-01", "UTC")
    assert [f"{m:%Y}" for m in next_times(schedule, after, 3)] == ["2028", "2032", "2036"]
    assert shown(next_times(schedule, local("2096-03-01", "UTC"), 1), "UTC") == [
        "2104-02-29 00:00+0000"
    ]


def test_last_days() -> None:
    assert first_days("0 0 L * *", 2) == ["06-30", "07-31"]
    assert first_days("0 0 LW * *", 3) == ["06-30", "07-31", "08-31"]
    assert first_days("0 0 * * 5L", 2) == ["06-26", "07-31"]
    assert first_days("0 0 * * MON#2", 2) == ["07-13", "08-10"]


def test_a_question_with_seconds_and_fractions() -> None:
    schedule = cron("30 2 * * *")
    slot = local("2026-06-11 02:30", "UTC")
    tiny = timedelta(microseconds=1)
    assert schedule.next_after(slot - tiny) == slot
    assert schedule.next_after(slot) == slot + timedelta(days=1)
    assert schedule.next_after(slot + tiny) == slot + timedelta(days=1)


def test_a_question_in_any_time_zone() -> None:
    asked = local("2026-06-11 01:15", "Europe/Berlin")
    for expression in ("0 * * * *", "0 3 * * *"):
        schedule = cron(expression, "Europe/Berlin")
        answer = schedule.next_after(asked)
        assert answer is not None
        assert answer.tzinfo is UTC
        for zone in (ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")):
            assert schedule.next_after(asked.astimezone(zone)) == answer


@pytest.mark.parametrize("expression", ["* * * * *", "0 0 1 1 *", "0 12 * * *"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/New_York"])
def test_no_time_follows_the_last_year(expression: str, zone: str) -> None:
    end = datetime(9999, 12, 31, 23, 59, 30, tzinfo=UTC)
    assert cron(expression, zone).next_after(end) is None


@settings(deadline=None)
@given(st.text(max_size=20) | st.from_regex(r"\A[0-9*,/LW#@A-Z -]{0,20}\Z"))
def test_any_text_is_a_schedule_or_an_error(text: str) -> None:
    try:
        schedule = cron(text)
    except LeitstandError as error:
        assert error.code == "INVALID_SCHEDULE"
        assert error.remedy
    else:
        following = schedule.next_after(NOON)
        assert following is not None
        assert following > NOON


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(cron_samples(300, seed=5)),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"]),
    st.datetimes(FIRST, LAST, timezones=st.just(UTC)),
    st.timedeltas(timedelta(0), timedelta(days=4)),
)
def test_counting_is_exact(expression: str, zone: str, after: datetime, length: timedelta) -> None:
    schedule = cron(expression, zone)
    until = after + length
    count, slot = 0, schedule.next_after(after)
    while slot is not None and slot <= until:
        count, slot = count + 1, schedule.next_after(slot)
    assert schedule.count(after, until) == count


def test_counting_ten_years_is_cheap() -> None:
    schedule = cron("*/10 * * * *", "Europe/Berlin")
    began = time.process_time()
    count = schedule.count(START, START + timedelta(days=3653))
    assert time.process_time() - began < 1
    assert count == 3653 * 144
