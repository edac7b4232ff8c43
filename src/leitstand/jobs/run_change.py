"""A change of a run's status, as others are told of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from leitstand.jobs.run import StartedRun
from leitstand.jobs.run_status import RunStatus


@dataclass(frozen=True)
class RunChange:
    """News, not history: what a transaction tells that is rolled back then is told all the same.

    Whoever hears it and wants to know looks at the run.
    """

    id: int
    job: str
    kind: str
    attempt: int
    status: RunStatus
    error_code: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any], status: RunStatus, error_code: str | None = None) -> Self:
        """From a row with the columns of ``runs`` that say which run it is."""
        return cls(row["id"], row["job"], row["kind"], row["attempt"], status, error_code)

    @classmethod
    def started(cls, run: StartedRun) -> Self:
        """That somebody has claimed the run."""
        return cls(run.lease.run_id, run.job, run.kind, run.attempt, RunStatus.RUNNING)

    def as_dict(self) -> dict[str, Any]:
        """The change's JSON shape, with the names of the run's."""
        return {**vars(self), "status": self.status.value}


Tell = Callable[[RunChange], None]
"""Hears of changes; may neither block nor fail."""


def tell_nobody(_: RunChange) -> None:
    """For where nobody listens."""
