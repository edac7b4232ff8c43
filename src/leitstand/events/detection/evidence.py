"""Decides which missing ids will never come: by evidence, and by age where there is none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from leitstand.events.detection.gap import Gap

SETTLED = timedelta(seconds=10)
"""How long an id has been missing before a lock can tell that it is dead: between the taking of a
number and the row there is a moment without either."""

WITHOUT_EVIDENCE = timedelta(minutes=15)
"""After how long an id counts as dead where nothing can tell: on a replica, or without rights."""

LONGEST = timedelta(hours=24)
"""After how long an id counts as dead whatever may hold it, with a warning."""


@dataclass(frozen=True)
class Verdict:
    """What became of gaps: those that are dead, given up after LONGEST, still open."""

    dead: list[Gap]
    given_up: list[Gap]
    open: list[Gap]


def by_holders(gaps: Sequence[Gap], holders: Collection[str], now: datetime) -> Verdict:
    """Who held the table's lock when the ids were first missed, and who of them is left?

    ``gaps`` are missing in a snapshot that is later than the reading of ``holders``.
    """
    dead, left = [], []
    for gap in gaps:
        before = frozenset(holders) if gap.holders is None else gap.holders & frozenset(holders)
        if before:
            left.append(replace(gap, holders=before))
        else:
            dead.append(gap)
    return _bounded(dead, left, now)


def by_locks(gaps: Sequence[Gap], free: Collection[Gap], now: datetime) -> Verdict:
    """``free`` are those of the gaps on which no transaction held a lock."""
    unlocked = {(gap.first, gap.last) for gap in free}
    dead = [gap for gap in gaps if (gap.first, gap.last) in unlocked]
    left = [gap for gap in gaps if (gap.first, gap.last) not in unlocked]
    return _bounded(dead, left, now)


def by_age(gaps: Sequence[Gap], now: datetime) -> Verdict:
    """Nothing but their age is known."""
    dead = [gap for gap in gaps if now - gap.seen_at >= WITHOUT_EVIDENCE]
    return Verdict(dead, [], [gap for gap in gaps if now - gap.seen_at < WITHOUT_EVIDENCE])


def _bounded(dead: list[Gap], left: Sequence[Gap], now: datetime) -> Verdict:
    given_up = [gap for gap in left if now - gap.seen_at >= LONGEST]
    return Verdict(dead, given_up, [gap for gap in left if now - gap.seen_at < LONGEST])
