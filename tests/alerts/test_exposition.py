"""The text format, read line by line."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from leitstand.alerts import MetricPage, page_of, parse_page


def values(page: MetricPage, name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(series.labels), series.value) for series in page.series(name) or ()]


def test_labels_are_unescaped() -> None:
    page = parse_page('m{a="x\\"y\\\\z\\n}{", b="" , } 1.5 1700000000\n')
    assert values(page, "m") == [({"a": 'x"y\\z\n}{', "b": ""}, 1.5)]


@pytest.mark.parametrize("text", ["m 1", "m{} 1", "m\t1 2", " m 1 ", 'm 1 # {trace="x"} 2'])
def test_ways_to_write_a_sample(text: str) -> None:
    assert values(parse_page(text), "m") == [({}, 1.0)]


@pytest.mark.parametrize(("text", "value"), [("+Inf", math.inf), ("-Inf", -math.inf), ("1e3", 1e3)])
def test_numbers(text: str, value: float) -> None:
    assert values(parse_page(f"m {text}"), "m") == [({}, value)]
    assert math.isnan(values(parse_page("m NaN"), "m")[0][1])


def test_a_bad_line_costs_no_other() -> None:
    """Aggregate case 8."""
    bad = ['m{a="x"y"} 1', "m{a=x} 1", "m", "m1", "m one", "m 1_000", '{a="b"} 1', 'm{a="x" 1']
    page = parse_page("\n".join(["m 1", *bad, 'm{a="b"} 2']))
    assert page.rejected == len(bad)
    assert len(values(page, "m")) == 2


@pytest.mark.parametrize("strange", ["\u2028", "\x85", "\x0c", "\x1c", "\r"])
def test_what_a_label_says_is_no_line_of_its_own(strange: str) -> None:
    """Whoever chooses the text of a label could otherwise make a metric, and an alert."""
    page = parse_page(f'm{{user="x{strange}made_up 99 # "}} 1\n')
    assert values(page, "m") == [({"user": f"x{strange}made_up 99 # "}, 1.0)]
    assert page.series("made_up") is None


def test_a_metric_without_series_is_there() -> None:
    page = parse_page("# HELP m text\n# TYPE m gauge\n# EOF\n")
    assert page.series("m") == []
    assert page.series("n") is None


def test_it_reads_what_is_exported_as_it_was_meant() -> None:
    registry = CollectorRegistry()
    Counter("jobs", "x", ["l"], registry=registry).labels('a\\b"c\nd').inc(3)
    Gauge("g", "x", registry=registry).set(2**53 + 2)
    Histogram("h", "x", registry=registry).observe(1)
    expected = page_of(registry.collect())
    openly = openmetrics.generate_latest(registry).decode()  # type: ignore[no-untyped-call]
    for text in (generate_latest(registry).decode(), openly):
        page = parse_page(text)
        for name in ("jobs", "jobs_total", "g"):
            assert values(page, name) == values(expected, name) != []
        assert page.series("h_bucket") is None
        assert page.series("h_sum") is None
        assert page.rejected == 0


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    parse_page(text)
