"""The rules for cron expressions, written down a second time: minute by minute, without a library.

Understands numbers, ranges, lists and steps, which is what the fuzz tests write.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def slots(expression: str, zone: ZoneInfo, after: datetime, until: datetime) -> list[datetime]:
    """The slots in (after, until]; windows of a few days, with a day of margin before it."""
    start = (after - timedelta(days=3)).replace(second=0, microsecond=0)
    length = int((until - start) / MINUTE) + 1
    moments = [(start + n * MINUTE).astimezone(UTC) for n in range(length)]
    shown = [moment.astimezone(zone).replace(tzinfo=None) for moment in moments]
    if len(field_values(expression, 1)) == 24:
        found = {m for m, wall in zip(moments, shown, strict=True) if matches(expression, wall)}
    else:
        found = set(_once_per_wall_minute(expression, moments, shown))
    return sorted(moment for moment in found if after < moment <= until)


def _once_per_wall_minute(
    expression: str, moments: list[datetime], shown: list[datetime]
) -> Iterator[datetime]:
    """The first moment at which clocks show a matching minute, or have gone past it."""
    reached = shown[0]
    for moment, wall in zip(moments, shown, strict=True):
        if wall > reached:
            minutes = int((wall - reached) / MINUTE)
            passed = (reached + n * MINUTE for n in range(1, minutes + 1))
            if any(matches(expression, minute) for minute in passed):
                yield moment
            reached = wall


def matches(expression: str, wall: datetime) -> bool:
    """Whether the expression names this minute of the wall clock."""
    if wall.minute not in field_values(expression, 0) or wall.hour not in field_values(
        expression, 1
    ):
        return False
    if wall.month not in field_values(expression, 3):
        return False
    day = wall.day in field_values(expression, 2)
    weekday = wall.isoweekday() % 7 in {value % 7 for value in field_values(expression, 4)}
    fields = expression.split()
    both = fields[2].startswith("*") or fields[4].startswith("*")
    return (day and weekday) if both else (day or weekday)


@cache
def field_values(expression: str, index: int) -> frozenset[int]:
    """The numbers that a field names."""
    return frozenset(
        value
        for term in expression.split()[index].split(",")
        for value in _term_values(term, *RANGES[index])
    )


def _term_values(term: str, least: int, greatest: int) -> range:
    span, _, step = term.partition("/")
    first, _, last = span.partition("-")
    if span == "*":
        return range(least, greatest + 1, int(step or 1))
    end = int(last) if last else greatest if step else int(first)
    return range(int(first), end + 1, int(step or 1))
