"""A flood of events at two control servers, and what it makes of the jobs that listen."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from leitstand.events import EventQueue, NewEvent
from leitstand.jobs import Run
from tests.jobs.scene import Scene, control_server, eventually

PRODUCERS = 4
AT_ONCE = 100
"""Events of one transaction."""

JOBS = ("quick", "slow")


@dataclass
class Most:
    """The most runs of one job that were seen running, and waiting, at any moment."""

    running: int = 0
    queued: int = 0

    async def look(self, scene: Scene) -> None:
        """Look until cancelled."""
        while True:
            rows = await scene.rows(
                "SELECT job, status, count(*) AS n FROM runs"
                " WHERE finished_at IS NULL GROUP BY job, status"
            )
            for row in rows:
                setattr(self, row["status"], max(getattr(self, row["status"]), row["n"]))
            await asyncio.sleep(0.01)


@dataclass
class Flood:
    """What came of it; ``runs`` of each job are the newest first."""

    most: Most
    runs: dict[str, list[Run]] = field(default_factory=dict)
    last_stored: datetime | None = None
    seconds: float = 0.0

    def counted(self, job: str) -> int:
        """Events that the job's runs stand for."""
        return sum(run.event["count"] for run in self.runs[job] if run.event)

    def is_followed(self, job: str) -> bool:
        """Whether a run of the job has started after the last event."""
        started = self.runs[job][0].started_at
        return started is not None and self.last_stored is not None and started >= self.last_stored


async def flood(scene: Scene, events: EventQueue, count: int, patience: float = 60.0) -> Flood:
    """Emit ``count`` events as fast as it goes, and wait until all of them are told."""
    await scene.job("quick", event="e")
    await scene.job("slow", "nap", event="e", params={"seconds": 1.0})
    found = Flood(Most())
    clock = asyncio.get_running_loop().time
    began = clock()
    looking = asyncio.create_task(found.most.look(scene))
    async with control_server(scene), control_server(scene, name="b"):
        starts = iter(range(0, count, AT_ONCE))
        await asyncio.gather(*(produce(scene, events, starts) for _ in range(PRODUCERS)))

        async def all_told() -> dict[str, list[Run]] | None:
            runs = {job: await scene.queue.list_runs(job, limit=10_000) for job in JOBS}
            ended = all(run.status.is_final for of_job in runs.values() for run in of_job)
            found.runs = runs
            told = all(found.counted(job) >= count for job in JOBS)
            return runs if ended and told else None

        await eventually(all_told, patience)
        found.seconds = clock() - began
    looking.cancel()
    (last,) = await events.list_events(limit=1)
    found.last_stored = last.stored_at
    return found


async def produce(scene: Scene, events: EventQueue, starts: Iterator[int]) -> None:
    """Emit batch after batch; several producers share ``starts``."""
    for start in starts:
        numbers = range(start, start + AT_ONCE)
        async with scene.database.transaction() as connection:
            await events.emit_in(connection, [NewEvent("e", "x", {"n": n}) for n in numbers])
