"""What becomes of one due job when it is claimed: the runs it gets, and why others are none."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from leitstand.jobs.job import Overlap
from leitstand.jobs.job_ledger import Advance, DueJob
from leitstand.jobs.misfire import Due
from leitstand.jobs.non_run import NonRun, NonRunReason
from leitstand.jobs.occurrence import Occurrence, Slot
from leitstand.jobs.placement import Placement

HAS_ONE = "a run for this time, or one that waits, exists already"


@dataclass(frozen=True)
class ClaimPlan:
    """What was decided about a due job."""

    due: DueJob
    decision: Due
    placement: Placement

    @property
    def occurrences(self) -> list[Occurrence]:
        """Those that are to run now, whether or not something is in their way."""
        return [
            Occurrence(self.due.job, start.slot, start.not_before)
            for start in self.placement.starts
        ]

    def non_runs(self, queued: Collection[Slot]) -> list[NonRun]:
        """The occurrences that got no run, if ``queued`` are those that got one."""
        missed = self._missed
        return [*self._skipped(queued), *([] if missed is None else [missed])]

    def _skipped(self, queued: Collection[Slot]) -> Iterator[NonRun]:
        reason = blocking_run(self.due) or HAS_ONE
        for occurrence in self.occurrences:
            if occurrence.slot not in queued:
                yield NonRun(self.due.job.name, occurrence.planned, NonRunReason.OVERLAP, reason)

    @property
    def _missed(self) -> NonRun | None:
        """Those that no server was there for."""
        missed = self.decision.missed
        if missed is None or missed.count == 0:
            return None
        first = self.due.slot_of(self.decision.first_missed or self.due.planned)
        last = self.due.slot_of(missed.last)
        return NonRun(
            self.due.job.name, first, NonRunReason.MISSED, self.decision.reason, last, missed.count
        )

    @property
    def advance(self) -> Advance:
        """The job's next time."""
        missed, waiting = self._missed, self.placement.waiting
        return Advance(
            self.due.job.id,
            self.placement.next_at,
            0 if missed is None else missed.count,
            postponed_from=None if waiting is None else waiting.slot,
        )


@dataclass(frozen=True)
class SetAside:
    """A due job whose schedule cannot be computed; it has no next time until it is edited."""

    due: DueJob
    problem: str

    def non_runs(self, queued: Collection[Slot]) -> list[NonRun]:
        """The occurrence that it was due for."""
        del queued
        name, planned = self.due.job.name, self.due.planned
        return [NonRun(name, planned, NonRunReason.SCHEDULE_ERROR, self.problem)]

    @property
    def advance(self) -> Advance:
        """The job's next time: none."""
        return Advance(self.due.job.id, None, 0, self.problem)


def blocking_run(due: DueJob) -> str | None:
    """The sentence naming the active run that costs this occurrence its own; None: none does."""
    if not due.job.exclusive:
        return None
    if due.waiting_run is not None:
        return f"run {due.waiting_run} (attempt {due.waiting_attempt}) of the job is waiting"
    if due.running_run is not None and due.job.overlap is Overlap.SKIP:
        return f"run {due.running_run} of the job is still running"
    return None
