"""The states of a run, which of them are final, and which may follow which."""

from enum import StrEnum


class RunStatus(StrEnum):
    """What a run is doing, or what it came to."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL_FAILURE = "partial_failure"
    """It ended without an error but left out objects that it should have processed."""
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether a run in this state never changes again."""
        return self in FINAL


FINAL = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.PARTIAL_FAILURE, RunStatus.FAILED, RunStatus.CANCELLED}
)
"""The states that a run never leaves; a retry is another run."""

TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    RunStatus.RUNNING: FINAL,
    **{status: frozenset() for status in FINAL},
}
"""The states that may follow each state. A run cannot go back into the queue: whoever wants the
work done again queues a further attempt, so that each attempt keeps its own outcome."""
