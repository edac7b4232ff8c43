"""Gathers what the status page shows."""

import asyncio
from datetime import UTC, datetime

from leitstand.app.control import Control
from leitstand.archive import judge, list_generations
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
    )
