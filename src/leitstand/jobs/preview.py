"""Shows when a job will run next."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from leitstand.jobs.job import Job
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.splay import splay_offset


@dataclass(frozen=True)
class Occurrence:
    """A time to come: as the schedule plans it, and the earliest start after the job's splay."""

    planned_at: datetime
    start_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape of ``job next``; ``moved`` says why start and plan differ, if they do."""
        moved = "splay" if self.start_at != self.planned_at else None
        return {"planned_at": self.planned_at, "start_at": self.start_at, "moved": moved}


def preview(job: Job, now: datetime, count: int) -> list[Occurrence]:
    """The next ``count`` occurrences after ``now``; fewer when the schedule ends before."""
    offset = timedelta(seconds=splay_offset(job.name, job.splay))
    return [Occurrence(planned, planned + offset) for planned in _planned(job, now, count)]


def _planned(job: Job, now: datetime, count: int) -> Iterator[datetime]:
    schedule = build_schedule(job.trigger, job.anchor)
    planned = job.next_run_at if job.enabled else schedule.next_after(now)
    for _ in range(count):
        if planned is None:
            return
        yield planned
        planned = schedule.next_after(planned)
