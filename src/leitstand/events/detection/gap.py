"""Ids that were not there when higher ones were: ranges, and what becomes of them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True)
class Gap:
    """Ids from ``first`` to ``last``, missing since ``seen_at`` at the latest.

    ``holders`` are the transactions that could still bring one of them; None: not asked yet.
    """

    first: int
    last: int
    seen_at: datetime
    holders: frozenset[str] | None = None

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


def closed(gaps: Sequence[Gap], dead: Iterable[Gap]) -> list[Gap]:
    """What is left of gaps without the ids in ``dead``; both are disjoint, the gaps in order."""
    ranges = sorted(dead, key=lambda each: each.first)
    firsts = [each.first for each in ranges]
    left: list[Gap] = []
    for gap in gaps:
        begin = max(0, bisect_right(firsts, gap.first) - 1)
        left.extend(_cut_out(gap, ranges[begin : bisect_right(firsts, gap.last)]))
    return left


def _cut_out(gap: Gap, dead: Sequence[Gap]) -> Iterator[Gap]:
    first = gap.first
    for each in dead:
        if each.last < first:
            continue
        if first < each.first:
            yield replace(gap, first=first, last=each.first - 1)
        first = each.last + 1
    if first <= gap.last:
        yield replace(gap, first=first)


def holds(gaps: Sequence[Gap], number: int) -> bool:
    """Whether the id is in one of the gaps, which are disjoint and in order."""
    place = bisect_right(gaps, number, key=lambda gap: gap.first)
    return place > 0 and number in gaps[place - 1]


def single(number: int, seen_at: datetime) -> Gap:
    """One id."""
    return Gap(number, number, seen_at)


def held_by(gaps: Sequence[Gap], judged: Sequence[Gap]) -> list[Gap]:
    """The gaps with the holders that ``judged``, disjoint and in order, were found to have."""
    firsts = [each.first for each in judged]
    told: list[Gap] = []
    for gap in gaps:
        begin = max(0, bisect_right(firsts, gap.first) - 1)
        over = [
            each
            for each in judged[begin : bisect_right(firsts, gap.last)]
            if each.last >= gap.first
        ]
        known = [each.holders for each in over if each.holders is not None]
        told.append(replace(gap, holders=frozenset().union(*known)) if known else gap)
    return told


def union(gaps: Iterable[Gap]) -> list[Gap]:
    """The same ids as disjoint ranges in order, as old as their youngest part.

    The holders are those of all parts; not asked yet if one part was not.
    """
    merged: list[Gap] = []
    for gap in sorted(gaps, key=lambda each: each.first):
        before = merged[-1] if merged else None
        if before is not None and gap.first <= before.last:
            merged[-1] = _joined(before, gap)
        else:
            merged.append(gap)
    return merged


def _joined(a: Gap, b: Gap) -> Gap:
    holders = None if a.holders is None or b.holders is None else a.holders | b.holders
    return Gap(a.first, max(a.last, b.last), max(a.seen_at, b.seen_at), holders)
