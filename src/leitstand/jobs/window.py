"""A maintenance window as a value: when it is open, and which jobs it concerns."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time
from enum import IntEnum
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from leitstand.jobs.job import WindowPolicy
from leitstand.jobs.wall_clock import DAY, first_change, shown_at

WEEK_AND_MORE = 16 * DAY
"""Every weekly window opens and closes within it, also when a week of it falls into a gap."""


class Weekday(IntEnum):
    """Days as ``datetime.weekday`` counts them; people write the names in small letters."""

    MON = 0
    TUE = 1
    WED = 2
    THU = 3
    FRI = 4
    SAT = 5
    SUN = 6


class Affected(Protocol):
    """What a window has to know of a job."""

    @property
    def name(self) -> str: ...  # noqa: D102 -- as in Job
    @property
    def tags(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def host(self) -> str | None: ...  # noqa: D102
    @property
    def window_policy(self) -> WindowPolicy: ...  # noqa: D102


@dataclass(frozen=True)
class WeeklyWindow:
    """Open whenever the clocks of ``zone`` show a time from ``start`` to before ``end``.

    ``days`` are those on which it starts; an ``end`` that is not after ``start`` is on the next
    day. What clocks show decides: a time that exists twice is in it twice, one that does not exist
    not at all.
    """

    days: frozenset[Weekday]
    start: time
    end: time
    zone: ZoneInfo

    def is_open(self, t: datetime) -> bool:
        """Whether the clocks of the zone show a time of the window."""
        shown = shown_at(t, self.zone)
        clock, today = shown.time(), Weekday(shown.weekday())
        if self.start < self.end:
            return today in self.days and self.start <= clock < self.end
        yesterday = Weekday((today - 1) % 7)
        return (today in self.days and clock >= self.start) or (
            yesterday in self.days and clock < self.end
        )

    def next_change(self, t: datetime) -> datetime | None:
        """The first moment after ``t`` at which it opens or closes; None if it never does."""
        now_open = self.is_open(t)
        for moment in self._candidates(t):
            if self.is_open(moment) != now_open:
                return moment
        return None

    def as_dict(self) -> dict[str, Any]:
        """Days, times and zone as people write them."""
        return {
            "days": [day.name.lower() for day in sorted(self.days)],
            "from": f"{self.start:%H:%M}",
            "to": f"{self.end:%H:%M}" if self.end != time() else "24:00",
            "timezone": self.zone.key,
        }

    def __str__(self) -> str:
        """``mon,tue 02:00-04:00 Europe/Berlin``."""
        shown = self.as_dict()
        days = "daily" if len(self.days) == len(Weekday) else ",".join(shown["days"])
        return f"{days} {shown['from']}-{shown['to']} {shown['timezone']}"

    def _candidates(self, t: datetime) -> Iterator[datetime]:
        """Moments after ``t``, in order, among which are all at which it can open or close.

        These are the moments at which clocks show its start or end, and those at which they jump.
        """
        known = t.astimezone(UTC)
        last = known + WEEK_AND_MORE
        day = shown_at(t, self.zone).replace(hour=0, minute=0, second=0, microsecond=0) - DAY
        while known < last:
            moments = self._moments_of(day)
            jump = first_change(known, max(moments), self.zone)
            for moment in sorted([*moments, jump] if jump is not None else moments):
                if moment > known:
                    yield moment
                    known = moment
            day += DAY

    def _moments_of(self, day: datetime) -> list[datetime]:
        """When clocks show the start and the end on that day, both times if they do so twice."""
        return [
            datetime.combine(day, clock, self.zone).replace(fold=fold).astimezone(UTC)
            for clock in (self.start, self.end)
            for fold in (0, 1)
        ]


@dataclass(frozen=True)
class DatedWindow:
    """Open once, from ``start`` to before ``end``; both aware."""

    start: datetime
    end: datetime

    def is_open(self, t: datetime) -> bool:
        """Whether ``t`` lies in it."""
        return self.start <= t < self.end

    def next_change(self, t: datetime) -> datetime | None:
        """Its start or its end, whichever is the first after ``t``."""
        return next((moment for moment in (self.start, self.end) if moment > t), None)

    def as_dict(self) -> dict[str, Any]:
        """In the form of a weekly window, without days."""
        return {"days": [], "from": self.start, "to": self.end, "timezone": "UTC"}


@dataclass(frozen=True)
class Window:
    """A maintenance window: its opening, and the jobs that it concerns.

    It concerns a job that is named in ``jobs``, has one of ``tags`` or is bound to one of
    ``hosts``; with all three empty it concerns every job.
    """

    name: str
    opening: WeeklyWindow | DatedWindow
    jobs: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    reason: str = ""
    managed: bool = False

    def concerns(self, job: Affected) -> bool:
        """Whether the window says anything to the job."""
        if not (self.jobs or self.tags or self.hosts):
            return True
        return job.name in self.jobs or job.host in self.hosts or not self.tags.isdisjoint(job.tags)

    def as_dict(self) -> dict[str, Any]:
        """The window's JSON shape; without ``managed`` it is what a ``[[window]]`` holds."""
        return {
            "name": self.name,
            **self.opening.as_dict(),
            "jobs": sorted(self.jobs),
            "tags": sorted(self.tags),
            "hosts": sorted(self.hosts),
            "reason": self.reason,
            "managed": self.managed,
        }
