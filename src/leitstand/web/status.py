"""What the status page shows, gathered from the domains."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from leitstand.archive import Drill, Generation, GenerationState, Judgement, SectionReport, breaches
from leitstand.jobs import AgentInfo, Job, Run, ServerInfo


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
    agents: Sequence[AgentInfo] = ()
    objects: Sequence[SectionReport] = ()


def problems_of(
    generations: Sequence[Generation],
    jobs: Sequence[Job],
    drills: Sequence[Drill],
    promises: Sequence[Judgement] = (),
) -> list[str]:
    """What somebody should look at, as sentences."""
    found = _about_backups(generations) or [f"{each.sentence}." for each in breaches(promises)]
    found += [
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


def _about_backups(generations: Sequence[Generation]) -> list[str]:
    sound = [g for g in generations if g.state is GenerationState.COMPLETE]
    if not sound:
        return ["There is no sound backup of PostgreSQL."]
    if not any(generation.drilled_at for generation in sound):
        return ["No backup is proven: none has passed a restore drill yet."]
    return []
