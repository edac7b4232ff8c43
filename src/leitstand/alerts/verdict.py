"""What an evaluation says about a series, and what people are sent about it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from leitstand.alerts.alert import Phase
from leitstand.alerts.rule import AlertRule
from leitstand.alerts.transition import Notice


class Verdict(NamedTuple):
    """One series that violates a rule, or that has stopped to.

    ``suppressed``: nobody is told (again) that it fires, or that it is over; ``reason`` says why.
    """

    rule: AlertRule
    fingerprint: str
    labels: Mapping[str, str]
    value: float | None
    phase: Phase
    suppressed: bool
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """The verdict's JSON shape."""
        return {
            "rule_id": self.rule.id,
            "rule": self.rule.name,
            "metric_name": self.rule.spec.metric_name,
            "value": self.value,
            "threshold": self.rule.spec.threshold,
            "labels": dict(self.labels),
            "state": self.phase,
            "suppressed": self.suppressed,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Evaluation:
    """All verdicts of one evaluation."""

    verdicts: tuple[Verdict, ...]

    @property
    def fired(self) -> tuple[Verdict, ...]:
        """What people are told that it fires."""
        return tuple(v for v in self.verdicts if v.phase is Phase.FIRING and not v.suppressed)

    @property
    def suppressed(self) -> tuple[Verdict, ...]:
        """What fires and is not told."""
        return tuple(v for v in self.verdicts if v.phase is Phase.FIRING and v.suppressed)

    @property
    def resolved(self) -> tuple[Verdict, ...]:
        """What is over, told or not."""
        return tuple(v for v in self.verdicts if v.phase is Phase.RESOLVED)


def payload(verdict: Verdict, notice: Notice, since: datetime, now: datetime) -> dict[str, Any]:
    """What the notification says."""
    spec = verdict.rule.spec
    resolved = notice is Notice.RESOLVED
    return {
        "rule": verdict.rule.name,
        "state": "resolved" if resolved else "firing",
        "description": spec.description,
        "metric": spec.metric_name,
        "value": _number(verdict.value),
        "comparison": "absent" if spec.absent else spec.comparison,
        "threshold": spec.threshold,
        "labels": dict(verdict.labels),
        "since": since.isoformat(),
        "ended": now.isoformat() if resolved else None,
        "reason": verdict.reason if resolved else None,
        "fingerprint": verdict.fingerprint,
    }


def _number(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return value if value is None or math.isfinite(value) else f"{value:+}"
