"""The rules about missing numbers: which are dead, which are waited for, how ranges are kept."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from leitstand.events.detection.evidence import (
    LONGEST,
    WITHOUT_EVIDENCE,
    by_age,
    by_holders,
    by_locks,
)
from leitstand.events.detection.gap import Gap, closed, held_by, holds, union

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def gap(first: int, last: int, age: timedelta = SECOND, *holders: str) -> Gap:
    return Gap(first, last, NOW - age, frozenset(holders) or None)


def test_who_held_the_lock_when_a_number_was_missed_has_to_let_go() -> None:
    """Cases 2 and 23: by evidence, whatever the time; who comes later cannot bring it."""
    fresh = gap(1, 3)
    first = by_holders([fresh], {"a", "b"}, NOW)
    assert first.open == [gap(1, 3, SECOND, "a", "b")]
    second = by_holders(first.open, {"b", "c"}, NOW)
    assert second.open == [gap(1, 3, SECOND, "b")]
    third = by_holders(second.open, {"c"}, NOW)
    assert (third.dead, third.open, third.given_up) == ([gap(1, 3, SECOND, "b")], [], [])


def test_a_lock_on_the_number_itself() -> None:
    verdict = by_locks([gap(1, 3), gap(7, 7)], [gap(7, 7)], NOW)
    assert (verdict.dead, verdict.open) == ([gap(7, 7)], [gap(1, 3)])


def test_after_a_day_it_is_given_up_with_a_warning() -> None:
    """Case 25: a day since it was first missed by us, whatever time stands in rows around it."""
    old, young = gap(1, 1, LONGEST, "a"), gap(2, 2, LONGEST - SECOND, "a")
    for verdict in (by_holders([old, young], {"a"}, NOW), by_locks([old, young], [], NOW)):
        assert (verdict.dead, verdict.given_up, verdict.open) == ([], [old], [young])


def test_without_evidence_a_quarter_of_an_hour() -> None:
    old, young = gap(1, 1, WITHOUT_EVIDENCE), gap(2, 2, WITHOUT_EVIDENCE - SECOND)
    verdict = by_age([old, young], NOW)
    assert (verdict.dead, verdict.open) == ([old], [young])


@st.composite
def ranges(draw: st.DrawFn) -> list[Gap]:
    """Disjoint ranges in order."""
    edges = sorted(draw(st.sets(st.integers(1, 60), max_size=12)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return [gap(first, last) for first, last in pairs]


def numbers(gaps: list[Gap]) -> set[int]:
    return {number for each in gaps for number in range(each.first, each.last + 1)}


@given(ranges(), ranges())
def test_what_is_closed_is_cut_out(gaps: list[Gap], dead: list[Gap]) -> None:
    left = closed(gaps, dead)
    assert numbers(left) == numbers(gaps) - numbers(dead)
    assert [each.first for each in left] == sorted(each.first for each in left)
    assert all(holds(left, number) == (number in numbers(left)) for number in range(1, 61))


@given(st.lists(ranges(), max_size=4))
def test_the_union_has_the_same_numbers_once(several: list[list[Gap]]) -> None:
    merged = union(each for gaps in several for each in gaps)
    assert numbers(merged) == {number for gaps in several for number in numbers(gaps)}
    assert sum(map(len, merged)) == len(numbers(merged))


@given(ranges(), ranges())
def test_holders_are_noted_where_they_were_asked_for(gaps: list[Gap], judged: list[Gap]) -> None:
    asked = [gap(each.first, each.last, SECOND, "a") for each in judged]
    told = held_by(gaps, asked)
    assert numbers(told) == numbers(gaps)
    for each in told:
        over = any(holds(asked, number) for number in range(each.first, each.last + 1))
        assert each.holders == (frozenset("a") if over else None)
