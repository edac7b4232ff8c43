"""The times at which a job is due, computed from its trigger."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leitstand.duration import DurationError, parse_duration
from leitstand.jobs.cron import parse_cron
from leitstand.jobs.trigger import ScheduleError, Trigger, TriggerType
from leitstand.jobs.wall_clock import moment_of

SHORTEST_INTERVAL = 0.1
"""Seconds; below it a server would do nothing but claim occurrences of one job."""

_AT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII
)


class Schedule(Protocol):
    """A grid of times ("slots"). Pure: it reads no clock, and all moments are aware."""

    def next_after(self, t: datetime) -> datetime | None:
        """The first slot later than ``t``, in UTC; None when none follows."""

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]; cheap also when they are many."""


@dataclass(frozen=True)
class EverySchedule:
    """Slot n is ``anchor`` + n x ``interval``, n from 0: elapsed time that knows no time zone."""

    anchor: datetime
    interval: timedelta

    def next_after(self, t: datetime) -> datetime | None:
        """The first slot later than ``t``, in UTC; None after the year 9999."""
        try:
            return self.anchor + max(0, self._slots_until(t)) * self.interval
        except OverflowError:
            return None

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]."""
        return max(0, self._slots_until(until)) - max(0, self._slots_until(after))

    def _slots_until(self, t: datetime) -> int:
        return (t - self.anchor) // self.interval + 1


@dataclass(frozen=True)
class OnceSchedule:
    """A single slot, or none at all: what has no schedule is never due."""

    moment: datetime | None

    def next_after(self, t: datetime) -> datetime | None:
        """The slot, if it is later than ``t``."""
        return self.moment if self.moment is not None and self.moment > t else None

    def count(self, after: datetime, until: datetime) -> int:
        """1 if the slot lies in (after, until], else 0."""
        return int(self.moment is not None and after < self.moment <= until)


def build_schedule(trigger: Trigger, anchor: datetime) -> Schedule:
    """The schedule of a trigger; ``anchor`` is slot 0 of an ``every`` trigger.

    Raises ScheduleError (``INVALID_SCHEDULE``) for one that cannot be read or never comes.
    """
    zone = find_zone(trigger.timezone)
    match trigger.type:
        case TriggerType.CRON:
            return parse_cron(trigger.expression, zone, anchor)
        case TriggerType.EVERY:
            return EverySchedule(anchor.astimezone(UTC), _interval(trigger.expression))
        case TriggerType.AT:
            return OnceSchedule(_moment(trigger.expression, zone))
        case TriggerType.MANUAL | TriggerType.EVENT:
            return OnceSchedule(None)


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that IANA name; raises ScheduleError for an unknown one."""
    try:
        # `localtime` is whatever the machine is set to: it would differ between two servers.
        return ZoneInfo("" if name == "localtime" else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(
            f"the time zone {name!r} does not exist",
            remedy="Use an IANA name with its capitals, such as Europe/Berlin or UTC.",
        ) from None


def _interval(text: str) -> timedelta:
    try:
        interval = timedelta(seconds=parse_duration(text))
    except (DurationError, OverflowError):
        interval = timedelta(0)
    if interval < timedelta(seconds=SHORTEST_INTERVAL):
        raise ScheduleError(
            f"{text!r} is no interval",
            remedy=f'Write a duration of at least {SHORTEST_INTERVAL:g} s, such as "15m".',
        )
    return interval


def _moment(text: str, zone: ZoneInfo) -> datetime:
    written = text.strip().upper()
    try:
        moment = datetime.fromisoformat(written if _AT.fullmatch(written) else "")
        return moment.astimezone(UTC) if moment.tzinfo else moment_of(moment, zone)
    except (ValueError, OverflowError):
        raise ScheduleError(
            f"{text!r} is no date and time",
            remedy='Write "2026-10-25T02:30:00+02:00", or "2026-10-25 02:30" in the time zone.',
        ) from None
