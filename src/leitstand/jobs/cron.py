"""The times of a cron expression in a time zone.

Which dates and times an expression means is decided by cronsim, which follows Debian's cron; how
they become moments is decided here. cronsim is only ever asked about naive wall-clock times,
because with a time zone it

- returns a moment before the question when asked within the repeated hour of a daily schedule
  (it sets ``fold=0`` in the end, ``CronSim.__next__``);
- loses a whole day of ``*/15 2 * * *`` when clocks skip that hour, as Debian does for every
  expression whose minute begins with ``*``;
- misses 02:45 of ``45 * * * *`` when clocks go from 02:00 to 02:30 (Australia/Lord_Howe), since
  it steps in elapsed minutes to where the wall clock's minute would be without the change.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import takewhile

from cronsim import CronSim, CronSimError

from leitstand.display import counted
from leitstand.jobs.trigger import ScheduleError
from leitstand.jobs.wall_clock import DAY, NO_TIME, SECOND, first_change, moment_of, shown_at

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Names for common expressions, as in crontab(5)."""

LONGEST = 500
"""Characters of an expression; one that lists every minute has about 170."""

_INSTANT = timedelta(microseconds=1)
_FIVE_FIELDS = 'Write five fields, minute hour day month weekday, such as "30 2 * * 1-5".'
_NUMBERS = {
    name: number
    for names, first in (
        ("SUN MON TUE WED THU FRI SAT", 0),
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
    )
    for number, name in enumerate(names.split(), first)
}
_STEPPED_RANGE = re.compile(r"(?:^|,)([^,/-]+)-([^,/-]+)/")
_STEPPED_LAST = re.compile(r"(?:^|,)LW?/")


@dataclass(frozen=True)
class CronSchedule:
    """The slots of a cron expression: five fields in capitals, as ``parse_cron`` makes it.

    ``continuous`` schedules name every hour of the day. They follow elapsed time: the repeated
    hour has its slots twice, the skipped hour none. Of all others a wall-clock time that occurs
    twice is a slot once, the first time, and one that does not occur is a slot at the first moment
    after the gap.
    """

    expression: str
    zone: tzinfo
    continuous: bool
    slots_per_day: int

    def next_after(self, t: datetime) -> datetime | None:
        """The first slot later than ``t``, in UTC; None when none comes before the year 9999."""
        return next(self._slots_after(t.astimezone(UTC)), None)

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]: exact, and cheap (20 ms for a minutely month)."""
        # Clocks set back over midnight show the day of `after` twice: then one day later.
        first = shown_at(after, self.zone).date() + DAY
        first += DAY if self._start_of(first) < after else NO_TIME
        last = shown_at(until, self.zone).date()
        if first >= last:
            return self._count_singly(after, until)
        days = [first + n * DAY for n in range((last - first).days + 1)]
        starts = [self._start_of(day) for day in days]
        matching = self._matching_days(first, last)
        count = self._count_singly(after, starts[0]) + self._count_singly(starts[-1], until)
        regular = False
        for day, start, end in zip(days, starts, starts[1:], strict=False):
            # What falls into a gap that ends at midnight is a slot of the day after.
            before, regular = regular, end - start == DAY
            if not (before and regular):
                count += self._count_singly(start, end)
            elif day in matching:
                count += self.slots_per_day
        return count

    def _slots_after(self, t: datetime) -> Iterator[datetime]:
        """All slots later than ``t`` (in UTC), in order."""
        try:
            yield from self._elapsed_slots(t) if self.continuous else self._wall_slots(t)
        except OverflowError:
            return

    def _wall_slots(self, t: datetime) -> Iterator[datetime]:
        latest = t
        for wall in CronSim(self.expression, shown_at(t, self.zone)):
            moment = moment_of(wall, self.zone)
            # Asked within the repeated hour, the first ones are past; those of a gap are one.
            if moment > latest:
                yield moment
                latest = moment

    def _elapsed_slots(self, t: datetime) -> Iterator[datetime]:
        start, asked = t, shown_at(t, self.zone)
        while True:
            shift = shown_at(start, self.zone) - start.replace(tzinfo=None)
            for wall in CronSim(self.expression, asked):
                moment = (wall - shift).replace(tzinfo=UTC)
                if change := first_change(start, moment, self.zone):
                    break
                yield moment
                start = moment
            else:
                return
            # The clocks change first: go on from the change, which may be a slot itself.
            start, asked = change, shown_at(change, self.zone) - SECOND

    def _count_singly(self, after: datetime, until: datetime) -> int:
        slots = self._slots_after(after.astimezone(UTC))
        return sum(1 for _ in takewhile(lambda slot: slot <= until, slots))

    def _start_of(self, day: date) -> datetime:
        """Just before the day's first moment, so that a slot at midnight is later."""
        return moment_of(datetime.combine(day, time()), self.zone) - _INSTANT

    def _matching_days(self, first: date, last: date) -> set[date]:
        """The days in [first, last) that the expression's three date fields name."""
        date_fields = self.expression.split(maxsplit=2)[2]
        midnights = CronSim(f"0 0 {date_fields}", datetime.combine(first, time()) - SECOND)
        days = (midnight.date() for midnight in midnights)
        return set(takewhile(lambda day: day < last, days))


def parse_cron(text: str, zone: tzinfo, start: datetime) -> CronSchedule:
    """The schedule that ``text`` stands for; raises ScheduleError for one that makes no sense.

    Also for one that names no date that ever comes; ``start`` is where the search for it begins.
    """
    expression = _five_fields(text)
    _refuse_ambiguous_steps(expression, text)
    wall = shown_at(start, zone)
    try:
        parsed = CronSim(expression, wall)
    except CronSimError as error:
        raise _explained(expression, text, str(error)) from None
    if next(parsed, None) is None:
        raise _never(text)
    return CronSchedule(
        expression,
        zone,
        continuous=len(parsed.hours) == 24,
        slots_per_day=len(parsed.minutes) * len(parsed.hours),
    )


def _five_fields(text: str) -> str:
    expression = NAMED.get(text.strip().lower(), text)
    if expression.lstrip().startswith("@"):
        known = ", ".join(NAMED)
        raise ScheduleError(f"{text!r} is no cron expression", remedy=f"These names exist: {known}")
    fields = expression.upper().split()
    if len(text) > LONGEST or len(fields) != 5:
        said = f"{len(text)} characters" if len(text) > LONGEST else counted(len(fields), "field")
        raise ScheduleError(
            f"{text[:80]!r} is no cron expression: it has {said}", remedy=_FIVE_FIELDS
        )
    return " ".join(fields)


def _refuse_ambiguous_steps(expression: str, text: str) -> None:
    """Steps that cronsim takes for something else than what is written.

    ``5-5/10`` would mean 5, 15, 25 … there, only 5 in Debian; ``L/2`` would ignore its step.
    """
    for field in expression.split():
        same = (m for m in _STEPPED_RANGE.finditer(field) if _number(m[1]) == _number(m[2]))
        if next(same, None) or _STEPPED_LAST.search(field):
            raise ScheduleError(
                f"{text!r} is no cron expression: the step in {field!r} has nothing to step over",
                remedy='Write the one value without a step, or a real range such as "5-59/10".',
            )


def _number(value: str) -> int | str:
    if value.isascii() and value.isdigit():
        return int(value)
    return _NUMBERS.get(value, value)


def _explained(expression: str, text: str, problem: str) -> ScheduleError:
    minute, hour, day, month, weekday = expression.split()
    # cronsim refuses a 32nd and a 30th of February alike: the second is only wrong as a whole.
    if _is_readable(f"{minute} {hour} {day} * {weekday}") and _is_readable(f"0 0 * {month} *"):
        return _never(text)
    said = problem[0].lower() + problem[1:]
    return ScheduleError(f"{text!r} is no cron expression: {said}", remedy=_FIVE_FIELDS)


def _is_readable(expression: str) -> bool:
    try:
        CronSim(expression, datetime(2000, 1, 1))  # noqa: DTZ001 -- a wall-clock time
    except CronSimError:
        return False
    return True


def _never(text: str) -> ScheduleError:
    return ScheduleError(
        f"the schedule {text!r} never comes: no month in it has such a day",
        remedy='Correct day and month; "L" as day stands for the last day of a month.',
    )
