"""A silence: a time for which nobody is told that some alerts fire."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from leitstand.errors import UsageError
from leitstand.jobs import WeeklyWindow, parse_window

Weekly = Mapping[str, Any]
"""Times of the week as people write them: ``from``, ``to``, ``days``, ``timezone``."""


@dataclass(frozen=True)
class SilenceSpec:
    """What is to be silent: the alerts of a rule, of series with these labels, or both.

    One of the two is given; a silence of everything would be forgotten. With ``weekly`` it is
    silent at these times of the week alone.
    """

    rule: str | None
    matchers: Mapping[str, str]
    weekly: WeeklyWindow | None = None

    def covers(self, rule: str, labels: Mapping[str, str]) -> bool:
        """Whether it concerns this alert; values are compared as they are, unescaped."""
        if self.rule is not None and self.rule != rule:
            return False
        return all(labels.get(name) == value for name, value in self.matchers.items())


@dataclass(frozen=True)
class Silence:
    """A silence as it is stored."""

    id: int
    what: SilenceSpec
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str

    def holds(self, now: datetime) -> bool:
        """Whether it silences anything at ``now``; what clocks show decides, as in windows."""
        if not self.starts_at <= now < self.ends_at:
            return False
        return self.what.weekly is None or self.what.weekly.is_open(now)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``alert_silences``."""
        weekly = None if row["weekly"] is None else parse_weekly(row["weekly"])
        return cls(
            id=row["id"],
            what=SilenceSpec(row["rule"], row["matchers"], weekly),
            starts_at=row["starts_at"],
            ends_at=row["ends_at"],
            reason=row["reason"],
            created_by=row["created_by"],
        )

    def as_dict(self) -> dict[str, Any]:
        """The silence's JSON shape."""
        return {
            "id": self.id,
            "rule": self.what.rule,
            "matchers": dict(self.what.matchers),
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "reason": self.reason,
            "created_by": self.created_by,
            "weekly": None if self.what.weekly is None else self.what.weekly.as_dict(),
        }


def parse_weekly(weekly: Weekly) -> WeeklyWindow:
    """The times that are meant; raises WindowError, and UsageError for dates."""
    opening = parse_window({"name": "silence", **weekly}).window().opening
    if not isinstance(opening, WeeklyWindow):
        raise UsageError(
            "a silence comes again at times of day, not on dates",
            remedy='Write from and to as "02:00" and "04:00".',
        )
    return opening


def silenced_by(
    silences: Iterable[Silence], rule: str, labels: Mapping[str, str], now: datetime
) -> str | None:
    """Why this alert is silent at ``now``, if it is."""
    for silence in silences:
        if silence.holds(now) and silence.what.covers(rule, labels):
            reason = f": {silence.reason}" if silence.reason else ""
            return f"silenced by {silence.id}{reason}"
    return None
