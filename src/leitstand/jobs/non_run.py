"""A non-run: an occurrence that led to no run (or not yet), and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self


class NonRunReason(StrEnum):
    """Why an occurrence has no run."""

    MISSED = "missed"
    """No control server was running when it was due."""
    POSTPONED = "postponed"
    OVERLAP = "overlap"
    """A run of the same job was active."""
    GROUP = "group"
    SUPERSEDED = "superseded"
    SCHEDULE_ERROR = "schedule_error"
    """The next time could not be computed."""


@dataclass(frozen=True)
class NonRun:
    """``count`` occurrences from ``scheduled_at`` to ``until`` that share a reason."""

    job: str
    scheduled_at: datetime
    reason: NonRunReason
    detail: str
    until: datetime | None = None
    count: int = 1

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``non_runs``."""
        return cls(
            row["job"],
            row["scheduled_at"],
            NonRunReason(row["reason"]),
            row["detail"],
            row["until"],
            row["count"],
        )

    def as_dict(self) -> dict[str, Any]:
        """The non-run's JSON shape."""
        return {
            "job": self.job,
            "scheduled_at": self.scheduled_at,
            "reason": self.reason.value,
            "detail": self.detail,
            "until": self.until,
            "count": self.count,
        }
