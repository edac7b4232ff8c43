"""A silence: a time for which nobody is told that some alerts fire."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self


@dataclass(frozen=True)
class SilenceSpec:
    """What is to be silent: the alerts of a rule, of series with these labels, or both.

    One of the two is given; a silence of everything would be forgotten.
    """

    rule: str | None
    matchers: Mapping[str, str]

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

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``alert_silences``."""
        return cls(
            id=row["id"],
            what=SilenceSpec(row["rule"], row["matchers"]),
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
        }


def silenced_by(
    silences: Iterable[Silence], rule: str, labels: Mapping[str, str], now: datetime
) -> str | None:
    """Why this alert is silent at ``now``, if it is."""
    for silence in silences:
        if silence.starts_at <= now < silence.ends_at and silence.what.covers(rule, labels):
            reason = f": {silence.reason}" if silence.reason else ""
            return f"silenced by {silence.id}{reason}"
    return None
