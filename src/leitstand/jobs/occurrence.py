"""A due point of a job's schedule that gets a run."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from leitstand.jobs.job import Job

Slot = tuple[int, datetime]
"""The id of a job and the planned time, in UTC: two zones' times may differ where clocks change."""


@dataclass(frozen=True)
class Occurrence:
    """The run of ``job`` planned for ``planned`` is to start at ``not_before`` at the earliest."""

    job: Job
    planned: datetime
    not_before: datetime

    @property
    def slot(self) -> Slot:
        """What no other occurrence has."""
        return self.job.id, self.planned.astimezone(UTC)

    def as_document(self) -> dict[str, Any]:
        """The JSON form that ``create_scheduled_runs`` reads."""
        job = self.job
        return {
            "job_id": job.id,
            "job": job.name,
            "kind": job.kind,
            "exclusive": job.exclusive,
            "scheduled_at": self.planned,
            "not_before": self.not_before,
            "priority": job.priority,
            "group_name": job.group,
            "runs_on": list(job.runs_on) or None,
        }
