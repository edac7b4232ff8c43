"""A restore drill as it is recorded: what was restored, whether it came back, how long it took."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self


class DrillKind(StrEnum):
    """What was restored."""

    DATABASE = "database"
    OBJECTS = "objects"


@dataclass(frozen=True)
class Drill:
    """One drill. ``detail`` is a sentence; ``source`` the stage that was restored, or empty.

    ``recovery_time`` is how long the way from the backup to the first answer took, and
    ``recovery_point_age`` how old the newest data was when the drill began; both in seconds, None
    where the drill did not get that far. ``phases`` gives the seconds of each phase.
    """

    timestamp: datetime
    kind: DrillKind
    source: str
    success: bool
    detail: str
    recovery_time: float | None = None
    recovery_point_age: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    canaries: Mapping[str, Any] = field(default_factory=dict)
    hindrance: str | None = field(default=None, compare=False)
    """What to do where this machine could not make the drill: it says nothing about the backup."""
    number: int | None = field(default=None, compare=False)
    """Where it stands in the history, once it does."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A drill from a row of ``drills``."""
        return cls(
            timestamp=row["finished_at"],
            kind=DrillKind(row["kind"]),
            source=row["source"],
            success=row["success"],
            detail=row["detail"],
            recovery_time=row["recovery_time"],
            recovery_point_age=row["recovery_point_age"],
            phases=row["phases"],
            canaries=row["canaries"],
            number=row["id"],
        )

    def as_dict(self) -> dict[str, Any]:
        """The drill's JSON shape."""
        return {
            "timestamp": self.timestamp,
            "kind": self.kind.value,
            "source": self.source,
            "success": self.success,
            "detail": self.detail,
            "recovery_time": self.recovery_time,
            "recovery_point_age": self.recovery_point_age,
            "phases": dict(self.phases),
            "canaries": dict(self.canaries),
        }
