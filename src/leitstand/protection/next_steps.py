"""Decides which self-protection job should run now without waiting for its schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from leitstand.protection.protection_jobs import DRILL, FULL, INCREMENTAL, SELFTEST, VERIFY


@dataclass(frozen=True)
class JobState:
    """What is known of a self-protection job: its last ended run, and whether one is on its way."""

    enabled: bool
    active: bool
    last_started: datetime | None
    last_outcome: str | None

    @property
    def may_start(self) -> bool:
        """Whether it may start out of turn; what has just failed is left to its retry policy."""
        failed = self.last_outcome in ("failed", "partial_failure")
        return self.enabled and not self.active and not failed

    @property
    def is_new(self) -> bool:
        """Whether it may start, and never has."""
        return self.may_start and self.last_started is None

    @property
    def last_success(self) -> datetime | None:
        """When its last run started, if that succeeded."""
        return self.last_started if self.last_outcome == "succeeded" else None


@dataclass(frozen=True)
class Evidence:
    """What the backup directory holds: a sound backup, and one that has passed a drill.

    The directory and not the history of runs, which may tell of another server or another disk.
    """

    backup: bool
    drill: bool


@dataclass(frozen=True)
class NextStep:
    """A job to queue now, by which trigger, and why."""

    job: str
    by: str
    reason: str


def next_steps(states: Mapping[str, JobState], evidence: Evidence) -> list[NextStep]:
    """What should be queued now; jobs that were deleted are not in ``states`` and stay away."""
    steps = []
    full, drill = states.get(FULL), states.get(DRILL)
    if full is not None and full.may_start and not evidence.backup:
        steps.append(NextStep(FULL, "startup", "there is no backup yet"))
    if drill is not None and drill.may_start and evidence.backup and not evidence.drill:
        steps.append(NextStep(DRILL, "startup", "no backup is proven yet"))
    selftest = states.get(SELFTEST)
    if selftest is not None and selftest.is_new and evidence.backup:
        steps.append(NextStep(SELFTEST, "startup", "the checker was never checked"))
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
