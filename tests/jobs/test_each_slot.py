"""No silent non-run: each slot has its run or its row, whatever befalls servers and runs."""

import asyncio
import contextlib
import random
from datetime import timedelta
from itertools import product
from pathlib import Path

from leitstand.errors import ConflictError
from leitstand.jobs import Job, Misfire, Overlap
from leitstand.store.database import Database
from tests.jobs.scene import Scene, control_server, eventually, scene_on
from tests.jobs.stormy import Stormy, freeze_or_thaw

INTERVAL = timedelta(seconds=0.3)
NAMES = [f"{overlap}-{misfire}" for overlap, misfire in product(Overlap, Misfire)]


async def save_jobs(scene: Scene, chance: random.Random) -> None:
    """One job for each pair of policies; an edit when they are there already."""
    for name in NAMES:
        overlap, misfire = name.split("-")
        await scene.job(
            name,
            kind="stormy",
            every="0.3s",
            overlap=overlap,
            misfire=misfire,
            misfire_limit=3,
            priority=chance.randrange(5),
            group=chance.choice([None, "g"]),
            retry={"max_attempts": 2, "backoff": 0.1},
        )


async def meddle(scene: Scene, chance: random.Random) -> None:
    """What people do, and a server that dies now and then."""
    for _ in range(20):
        await asyncio.sleep(0.15 * chance.random())
        if chance.random() < 0.3:
            with contextlib.suppress(ConflictError):
                await scene.queue.request(chance.choice(NAMES), user="anna")
        if chance.random() < 0.15:
            await save_jobs(scene, chance)
        if chance.random() < 0.15:
            await scene.queue.start("dead", 2)
        if chance.random() < 0.2:
            await freeze_or_thaw(scene)


async def accounted_for(scene: Scene, job: Job) -> tuple[int, int]:
    """The slots from the anchor, which is none, to the next time; those with a run or a row."""
    assert job.next_run_at is not None
    slots = round((job.next_run_at - job.anchor) / INTERVAL) - 1
    (row,) = await scene.rows(
        "SELECT (SELECT count(*) FROM runs WHERE job = %s AND trigger_by = 'schedule')"
        " + (SELECT coalesce(sum(count), 0) FROM non_runs WHERE job = %s AND reason <> 'postponed')"
        " AS known",
        job.name,
        job.name,
    )
    return slots, int(row["known"])


async def test_each_slot_has_its_run_or_a_row_that_says_why_not(
    database: Database, tmp_path: Path
) -> None:
    """Storms, outages, windows, requests and edits; all policies of overlap and misfire."""
    chance = random.Random(3)
    stormy = Stormy(chance)
    scene = scene_on(database, tmp_path / "spool", [stormy])
    await save_jobs(scene, chance)
    async with control_server(scene), control_server(scene, name="b"):
        await meddle(scene, chance)
    await asyncio.sleep(2.5)  # an outage that is longer than the tolerance
    stormy.calm.set()
    await freeze_or_thaw(scene, thaw=True)
    before = {job.name: job.next_run_at for job in await scene.jobs.list_all()}
    async with control_server(scene):

        async def all_claimed() -> bool | None:
            jobs = await scene.jobs.list_all()
            moved = all(job.next_run_at != before[job.name] for job in jobs)
            return (moved and not any(job.postponed_from for job in jobs)) or None

        await eventually(all_claimed)
    for job in await scene.jobs.list_all():
        slots, known = await accounted_for(scene, job)
        assert slots == known, job.name
