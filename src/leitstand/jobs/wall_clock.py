"""Translates between the moments of UTC and what the clocks of a time zone show.

Wall-clock times are naive datetimes here, moments are aware ones in UTC. How ``fold`` tells the two
offsets of a repeated or skipped time apart is PEP 495.
"""

from datetime import UTC, datetime, timedelta, tzinfo

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
NO_TIME = timedelta(0)


def shown_at(moment: datetime, zone: tzinfo) -> datetime:
    """What the clocks of ``zone`` show at ``moment``."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def moment_of(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which the clocks of ``zone`` show ``wall``.

    The first one, if they show it twice; the first one after the gap, if they never show it.
    """
    local = wall.replace(tzinfo=zone)
    offset, other = _offset(local), _offset(local.replace(fold=1))
    moment = (wall - offset).replace(tzinfo=UTC)
    if other <= offset:
        return moment
    # In a gap the two offsets are those before and after it, and so enclose the change.
    return first_change((wall - other).replace(tzinfo=UTC), moment, zone) or moment


def first_change(after: datetime, until: datetime, zone: tzinfo) -> datetime | None:
    """The first moment in (after, until] with another offset than at ``after``; None if none.

    Looks once a day: an offset that changes and changes back within a day, which no zone has
    done, would not be seen.
    """
    offset = _offset(after.astimezone(zone))
    known = after.replace(microsecond=0)
    while known < until:
        probe = min(known + DAY, until)
        if _offset(probe.astimezone(zone)) != offset:
            return _bisect(known, probe, zone)
        known = probe
    return None


def _bisect(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The second at which the offset changes, between two moments that differ in it."""
    offset = _offset(before.astimezone(zone))
    low, high = 0, -((before - after) // SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset((before + middle * SECOND).astimezone(zone)) == offset:
            low = middle
        else:
            high = middle
    return before + high * SECOND


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or NO_TIME
