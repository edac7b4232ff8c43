"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.duration import DurationError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("5m", 300),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("2d", 172800),
        ("1w", 604800),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (" 90 ", 90),
        ("0", 0),
        ("-3", -3),
        (".5", 0.5),
        ("5M", 300),
    ],
)
def test_reads_what_people_write(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "s", "5x", "-5m", "1m1h", "5m5m", "1h30", "1e3", "inf", "nan", "5 minutes"]
)
def test_refuses_what_has_no_clear_meaning(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert caught.value.code == "INVALID_DURATION"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (12, "12s"),
        (72.0, "1m12s"),
        (59.9996, "1m"),
        (3600, "1h"),
        (8 * 86400 + 3600, "1w1d"),
        (-90, "-1m30s"),
    ],
)
def test_shows_the_two_greatest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0.001, 1e8))
def test_what_is_shown_can_be_read_again(seconds: float) -> None:
    shown = parse_duration(format_duration(seconds))
    assert shown <= seconds + 0.001
    assert shown >= seconds * 0.85 - 0.001
