"""How far a log table has been read, as it is shown and measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self


@dataclass(frozen=True)
class DetectorStatus:
    """How far one detector is. Counts begin anew with a reset.

    ``behind`` are the numbers that it has not looked at, among those the source was seen to have.
    """

    event: str
    checkpoint: int
    behind: int
    emitted: int
    late_rows: int
    dead_ids: int
    open_gaps: int


@dataclass(frozen=True)
class Reset:
    """When a source was begun anew, why, and by whom; None: it was noticed, nobody asked."""

    source: str
    epoch: int
    reason: str
    reset_by: str | None
    reset_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A reset from a row of ``detection_resets``."""
        return cls(row["source"], row["epoch"], row["reason"], row["reset_by"], row["reset_at"])

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        return vars(self).copy()


@dataclass(frozen=True)
class SourceStatus:
    """How far a source is; times in UTC, ``read_age`` and ``clock_skew`` in seconds."""

    name: str
    state: str
    problem: str | None
    epoch: int
    highest: int | None
    id_limit: int | None
    last_run_at: datetime | None
    last_read_at: datetime | None
    read_age: float | None
    clock_skew: float | None
    resets: int
    late_rows: int
    dead_ids: int
    detectors: Sequence[DetectorStatus]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A status from a row of ``status``."""
        detectors = [DetectorStatus(**each) for each in row["detectors"]]
        plain = {name: row[name] for name in cls.__dataclass_fields__ if name != "detectors"}
        return cls(**plain, detectors=detectors)

    @classmethod
    def unread(cls, name: str) -> Self:
        """Of a source that was never read."""
        return cls(
            name=name,
            state="new",
            problem=None,
            epoch=0,
            highest=None,
            id_limit=None,
            last_run_at=None,
            last_read_at=None,
            read_age=None,
            clock_skew=None,
            resets=0,
            late_rows=0,
            dead_ids=0,
            detectors=(),
        )

    def unavailable(self, problem: str) -> Self:
        """The same of a source that cannot be read now."""
        return replace(self, state="unavailable", problem=problem)

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        return {**vars(self), "detectors": [vars(each).copy() for each in self.detectors]}
