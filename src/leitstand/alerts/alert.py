"""An alert: what is known of one series of one rule."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Self
from uuid import UUID


class Phase(StrEnum):
    """Where a series stands with its rule."""

    PENDING = "pending"
    """It violates the rule, but not for long enough."""
    FIRING = "firing"
    RESOLVED = "resolved"


PHASES = {phase.value: phase for phase in Phase}


@dataclass(frozen=True, slots=True)
class AlertState:
    """What decides about a series: ``since`` begins the phase's cause, ``told_at`` is the last
    time that people were told that it fires, ``told`` are the message ids of this episode.
    """

    phase: Phase
    since: datetime
    told_at: datetime | None = None
    told: Sequence[UUID] = ()
    missing_since: datetime | None = None
    acknowledged_at: datetime | None = None
    acknowledged_by: str | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``alerts``."""
        return cls(
            PHASES[row["phase"]],
            row["since"],
            row["told_at"],
            row["told"],
            row["missing_since"],
            row["acknowledged_at"],
            row["acknowledged_by"],
        )


class Known(NamedTuple):
    """What an evaluation needs to know of an alert; decisions are made on a version."""

    version: int
    state: AlertState


@dataclass(frozen=True)
class AlertFilter:
    """Which alerts somebody asks for; ``rule`` is a name or an id, labels stand unescaped."""

    phases: Collection[Phase] = (Phase.PENDING, Phase.FIRING)
    rule: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Alert:
    """An alert as it is stored; ``value`` is that of the last change."""

    id: int
    rule_id: int
    rule: str
    fingerprint: str
    labels: Mapping[str, str]
    version: int
    value: float | None
    state: AlertState

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``alerts`` with the name of its rule."""
        return cls(
            id=row["id"],
            rule_id=row["rule_id"],
            rule=row["rule"],
            fingerprint=row["fingerprint"],
            labels=row["labels"],
            version=row["version"],
            value=row["value"],
            state=AlertState.from_row(row),
        )

    def as_dict(self) -> dict[str, Any]:
        """The alert's JSON shape."""
        state = self.state
        return {
            "id": self.id,
            "rule_id": self.rule_id,
            "rule": self.rule,
            "labels": dict(self.labels),
            "state": state.phase,
            "value": self.value,
            "since": state.since,
            "told_at": state.told_at,
            "missing_since": state.missing_since,
            "acknowledged_at": state.acknowledged_at,
            "acknowledged_by": state.acknowledged_by,
        }
