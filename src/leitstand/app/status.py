"""Gathers what the status page shows."""

import asyncio
from datetime import UTC, datetime

from leitstand.app.control import Control
from leitstand.app.proof import integrity_sections
from leitstand.archive import (
    SectionReport,
    examine_sections,
    judge,
    list_generations,
    recorded_snapshots,
)
from leitstand.web import Status, problems_of

SHOWN = 15
"""Rows of the tables that grow for ever."""


async def gather_status(control: Control) -> Status:
    """One look at everything."""
    archive, now = control.archive, datetime.now(UTC)
    generations = await asyncio.to_thread(list_generations, archive.directory)
    jobs = await control.jobs.list_all()
    drills = await control.drills.history(limit=SHOWN)
    promises = judge(archive.objectives, generations, archive.policy, drills, now)
    return Status(
        now=now,
        servers=await control.servers.list_all(),
        jobs=jobs,
        runs=await control.queue.list_runs(limit=SHOWN),
        generations=list(reversed(generations))[:SHOWN],
        drills=drills,
        problems=problems_of(generations, jobs, drills, promises),
        agents=await control.agents.list_all(),
        objects=await _about_objects(control, now),
    )


async def _about_objects(control: Control, now: datetime) -> list[SectionReport]:
    """What the control database knows of objects: a page that renews itself asks nobody else."""
    snapshots = await recorded_snapshots(control.objects)
    sections = await examine_sections(integrity_sections(control), now)
    told = [section for section in sections if section.facts.get("latest") is not None]
    return told if snapshots is None else [snapshots, *told]
