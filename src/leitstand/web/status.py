"""What the status page shows, gathered from the domains."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from leitstand.archive import Drill, Generation
from leitstand.jobs import Job, Run, ServerInfo


@dataclass(frozen=True)
class Status:
    """One look at everything; ``problems`` are sentences, worst first."""

    now: datetime
    servers: Sequence[ServerInfo]
    jobs: Sequence[Job]
    runs: Sequence[Run]
    generations: Sequence[Generation]
    drills: Sequence[Drill]
    problems: Sequence[str]


def problems_of(jobs: Sequence[Job], drills: Sequence[Drill]) -> list[str]:
    """What somebody should look at, as sentences."""
    found = [
        f"Job {job.name} last ended as {job.last_outcome}."
        for job in jobs
        if job.enabled and job.last_outcome not in (None, "succeeded")
    ]
    found += [
        f"Job {job.name} has a schedule that cannot be computed: {job.schedule_error}."
        for job in jobs
        if job.schedule_error
    ]
    if drills and not drills[0].success:
        found.append(f"The last restore drill failed: {drills[0].detail}.")
    return found
