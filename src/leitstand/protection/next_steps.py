"""Decides which self-protection job should run now without waiting for its schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from leitstand.protection.protection_jobs import DRILL, FULL, INCREMENTAL, VERIFY


@dataclass(frozen=True)
class JobState:
    """What is known of a self-protection job: its last ended run, and whether one is on its way."""

    enabled: bool
    active: bool
    last_started: datetime | None
    last_outcome: str | None

    @property
    def untouched(self) -> bool:
        """Whether it could run and never did."""
        return self.enabled and not self.active and self.last_outcome is None

    @property
    def last_success(self) -> datetime | None:
        """When its last run started, if that succeeded."""
        return self.last_started if self.last_outcome == "succeeded" else None


@dataclass(frozen=True)
class NextStep:
    """A job to queue now, by which trigger, and why."""

    job: str
    by: str
    reason: str


def next_steps(states: Mapping[str, JobState]) -> list[NextStep]:
    """What should be queued now; jobs that were deleted are not in ``states`` and stay away."""
    steps = []
    full, drill = states.get(FULL), states.get(DRILL)
    if full is not None and full.untouched:
        steps.append(NextStep(FULL, "startup", "there is no backup yet"))
    if drill is not None and drill.untouched and full is not None and full.last_success:
        steps.append(NextStep(DRILL, "startup", "the first backup is not proven yet"))
    if _verification_due(states):
        steps.append(NextStep(VERIFY, "event", "a backup was taken"))
    return steps


def _verification_due(states: Mapping[str, JobState]) -> bool:
    verify = states.get(VERIFY)
    if verify is None or not verify.enabled or verify.active:
        return False
    backups = [states[name].last_success for name in (FULL, INCREMENTAL) if name in states]
    newest = max((time for time in backups if time is not None), default=None)
    if newest is None:
        return False
    # All share a group with room for one, so whoever started later saw the other's work.
    return verify.last_started is None or verify.last_started < newest
