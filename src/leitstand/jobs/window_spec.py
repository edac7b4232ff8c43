"""The typed form in which people write a maintenance window."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from leitstand.errors import UsageError
from leitstand.execution import validation_sentence
from leitstand.jobs.schedule import find_zone
from leitstand.jobs.thing_name import ThingName
from leitstand.jobs.trigger import ScheduleError
from leitstand.jobs.wall_clock import moment_of
from leitstand.jobs.window import DatedWindow, Weekday, WeeklyWindow, Window

MIDNIGHT = "24:00"
"""How the end of a day is written; ``from`` cannot be it."""

_CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d|24:00")
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class WindowError(UsageError):
    """A window that cannot be."""

    code = "INVALID_WINDOW"


def _clock_or_moment(value: object) -> object:
    """``"22:00"``, or an aware or naive datetime; TOML has types of its own for both."""
    if isinstance(value, time):
        value = value.isoformat()
    if isinstance(value, datetime):
        return value
    text = value.isoformat() if isinstance(value, date) else str(value).strip()
    clock = text.removesuffix(":00") if text.count(":") == 2 and len(text) == 8 else text
    if _CLOCK.fullmatch(clock):
        return clock
    try:
        return datetime.fromisoformat(text if "-" in text else "")
    except ValueError:
        raise ValueError(
            f'{text!r} is neither a time of day ("22:00") nor a date and time '
            '("2026-12-24 18:00", or with an offset "2026-12-24T18:00:00+01:00")'
        ) from None


def _days(value: object) -> object:
    """Days by name, as ranges or in a list: ``"mon-fri"``, ``["sat", "Sunday"]``."""
    if isinstance(value, str):
        value = re.split(r"[,\s]+", value.strip())
    if not isinstance(value, Iterable):
        return value
    days = {day for item in value for day in _day_range(str(item))}
    return () if len(days) == len(Weekday) else tuple(day.name.lower() for day in sorted(days))


def _day_range(text: str) -> list[Weekday]:
    first, dash, last = text.strip().lower().partition("-")
    begin = _day(first)
    length = (_day(last) - begin) % 7 if dash else 0
    return [Weekday((begin + offset) % 7) for offset in range(length + 1)]


def _day(text: str) -> Weekday:
    name = text.strip()
    for day in Weekday:
        if name in (day.name.lower(), _DAY_NAMES[day]):
            return day
    raise ValueError(f"{text!r} is no day of the week; write mon, tue, wed, thu, fri, sat or sun")


def _sorted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _known_zone(name: str) -> str:
    try:
        return find_zone(name).key
    except ScheduleError as error:
        raise ValueError(f"{error.message}; {error.remedy}") from None


ClockOrMoment = Annotated[str | datetime, BeforeValidator(_clock_or_moment)]
Names = Annotated[tuple[str, ...], AfterValidator(_sorted)]


class WindowSpec(BaseModel):
    """A window as people write it: a ``[[window]]`` table, or the API's body.

    ``from`` and ``to`` are both times of day (a weekly window, on all days unless ``days`` names
    some), or both dates with a time (a dated window). Without ``jobs``, ``tags`` and ``hosts`` it
    concerns all jobs. Specs that mean the same are equal: names and days are in order, all days are
    none, and dates are in UTC.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: ThingName
    days: Annotated[tuple[str, ...], BeforeValidator(_days)] = ()
    start: ClockOrMoment = Field(alias="from")
    end: ClockOrMoment = Field(alias="to")
    timezone: Annotated[str, BeforeValidator(_known_zone)] = "UTC"
    jobs: Names = ()
    tags: Names = ()
    hosts: Names = ()
    reason: str = Field(default="", max_length=500)

    @model_validator(mode="wrap")
    @classmethod
    def _in_utc(cls, given: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        spec = validate(given)
        spec._refuse_impossible()
        if not (isinstance(spec.start, datetime) and isinstance(spec.end, datetime)):
            return spec
        zone = find_zone(spec.timezone)
        start, end = _in_utc(spec.start, zone), _in_utc(spec.end, zone)
        if start >= end:
            raise ValueError("to is not after from")
        return spec.model_copy(update={"start": start, "end": end, "timezone": "UTC"})

    def _refuse_impossible(self) -> None:
        if isinstance(self.start, str) != isinstance(self.end, str):
            raise ValueError("from and to are two times of day, or two dates with a time")
        if self.start == MIDNIGHT:
            raise ValueError("from is 24:00; write 00:00 and the day after")
        if self.start == self.end:
            raise ValueError("from and to are the same; a whole day is from 00:00 to 24:00")
        if isinstance(self.start, datetime) and self.days:
            raise ValueError("days are for windows whose from and to are times of day")

    @classmethod
    def of(cls, window: Window) -> Self:
        """The window as one would write it; saving it changes nothing."""
        document = window.as_dict()
        del document["managed"]
        return cls.model_validate(document)

    def window(self, *, managed: bool = False) -> Window:
        """The window that is meant."""
        return Window(
            name=self.name,
            opening=self._opening(),
            jobs=frozenset(self.jobs),
            tags=frozenset(self.tags),
            hosts=frozenset(self.hosts),
            reason=self.reason,
            managed=managed,
        )

    def _opening(self) -> WeeklyWindow | DatedWindow:
        if isinstance(self.start, datetime) and isinstance(self.end, datetime):
            return DatedWindow(self.start, self.end)
        days = frozenset(Weekday[day.upper()] for day in self.days) or frozenset(Weekday)
        start, end = _time(str(self.start)), _time(str(self.end))
        return WeeklyWindow(days, start, end, find_zone(self.timezone))


def _in_utc(moment: datetime, zone: ZoneInfo) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment_of(moment, zone)
    except OverflowError:
        raise ValueError(f"{moment} is out of all calendars") from None


def _time(clock: str) -> time:
    return time() if clock == MIDNIGHT else time.fromisoformat(clock)


def parse_window(document: Mapping[str, Any]) -> WindowSpec:
    """The window that ``document`` (a ``[[window]]`` table) describes.

    Raises WindowError (``INVALID_WINDOW``) with a sentence for each key that is wrong.
    """
    try:
        return WindowSpec.model_validate(dict(document))
    except ValidationError as error:
        name = document.get("name")
        named = f" {name!r}" if isinstance(name, str) else ""
        problems = validation_sentence(error).replace("Value error, ", "")
        raise WindowError(
            f"the window{named} cannot be: {problems}",
            remedy='It needs a name, from and to: "22:00" and "04:00", or two dates with a time.',
        ) from None
