"""How people write windows, and what they are told when it cannot be."""

import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest

from leitstand.errors import LeitstandError
from leitstand.jobs import DatedWindow, Weekday, WeeklyWindow, WindowSpec, parse_window


def read(toml: str) -> WindowSpec:
    return parse_window({"name": "w", **tomllib.loads(toml)})


@pytest.mark.parametrize(
    ("written", "days"),
    [
        ('"mon-fri"', "MON TUE WED THU FRI"),
        ('"sat, Sunday"', "SAT SUN"),
        ('"fri-mon"', "MON FRI SAT SUN"),
        ('["sat", "mon-tue"]', "MON TUE SAT"),
        ("[]", "MON TUE WED THU FRI SAT SUN"),
    ],
)
def test_days(written: str, days: str) -> None:
    opening = read(f'from = "22:00"\nto = "04:00"\ndays = {written}').window().opening
    assert isinstance(opening, WeeklyWindow)
    assert [day.name for day in sorted(opening.days)] == days.split()


@pytest.mark.parametrize(
    "written",
    [
        'from = 2026-12-24T18:00:00+01:00\nto = "2026-12-25 00:00"\ntimezone = "Europe/Berlin"',
        'from = "2026-12-24 18:00"\nto = 2026-12-25\ntimezone = "Europe/Berlin"',
        'from = "2026-12-24T17:00Z"\nto = 2026-12-24T23:00:00',
    ],
)
def test_dates_are_in_the_zone_of_the_window_unless_they_have_an_offset(written: str) -> None:
    assert read(written).window().opening == DatedWindow(
        datetime(2026, 12, 24, 17, tzinfo=UTC), datetime(2026, 12, 24, 23, tzinfo=UTC)
    )


def test_toml_knows_times_of_day() -> None:
    assert read("from = 22:00:00\nto = 04:30:00") == read('from = "22:00"\nto = "04:30"')


@pytest.mark.parametrize(
    "written",
    [
        'from = "22:00"\nto = "24:00"\ndays = "sat"\ntags = ["b", "a"]\nreason = "why"',
        'from = "22:00"\nto = "04:00"\ntimezone = "Europe/Berlin"\njobs = ["x"]',
        'from = "2026-12-24 18:00"\nto = "2026-12-26"\ntimezone = "Asia/Tokyo"\nhosts = ["db1"]',
    ],
)
def test_a_window_can_be_written_down_again(written: str) -> None:
    spec = read(written)
    again = WindowSpec.of(spec.window())
    assert again == spec
    assert parse_window(again.model_dump(mode="json", by_alias=True)) == spec


def test_specs_that_mean_the_same_are_equal() -> None:
    assert read('from="22:00"\nto="04:00"\ntags=["b","a","b"]\ndays="mon-sun"') == read(
        'from="22:00"\nto="04:00"\ntags=["a","b"]'
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"from": "22:00"}, "to: Field required"),
        ({"from": "25:00", "to": "04:00"}, "from: '25:00' is neither a time of day"),
        ({"from": 22, "to": "04:00"}, "from: '22' is neither"),
        ({"from": "22:00:30", "to": "04:00"}, "from: '22:00:30' is neither"),
        ({"from": "22:00", "to": "2026-12-24 18:00"}, "two times of day, or two dates"),
        ({"from": "22:00", "to": "22:00"}, "a whole day is from 00:00 to 24:00"),
        ({"from": "24:00", "to": "04:00"}, "write 00:00 and the day after"),
        ({"from": "2026-12-24", "to": "2026-12-24"}, "from and to are the same"),
        ({"from": "2026-12-24", "to": "2026-12-23"}, "to is not after from"),
        ({"from": "2026-12-24", "to": "2026-12-25", "days": ["mon"]}, "days are for windows"),
        ({"from": "22:00", "to": "04:00", "days": "mo"}, "days: 'mo' is no day of the week"),
        ({"from": "22:00", "to": "04:00", "timezone": "Mars"}, "time zone 'Mars' does not exist"),
        ({"from": "22:00", "to": "04:00", "day": "mon"}, "day: Extra inputs"),
        ({"from": "0001-01-01", "to": "0001-01-02", "timezone": "Asia/Tokyo"}, "calendars"),
        ({"from": "22:00", "to": "04:00", "name": "a b"}, "name: "),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LeitstandError) as caught:
        parse_window({"name": "w", **fields})
    assert caught.value.code == "INVALID_WINDOW"
    assert sentence in caught.value.message


def test_all_seven_days_have_a_name() -> None:
    assert [day.value for day in Weekday] == list(range(7))
