"""Each event reaches a run that succeeds, whatever befalls the runs on the way there."""

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

from leitstand.errors import ConflictError
from leitstand.events import EventQueue, NewEvent
from leitstand.events.coalescing import LISTED
from leitstand.jobs import Deliver, Run, RunStatus
from leitstand.store.database import Database
from tests.jobs.scene import Scene, control_server, eventually, scene_on
from tests.jobs.stormy import Stormy, freeze_or_thaw

ROUNDS = 3
JOBS = ("newest", "each", "beside")


async def save_jobs(scene: Scene, chance: random.Random) -> None:
    """The three ways of taking events; an edit when they are there already."""
    common: dict[str, Any] = {
        "kind": "stormy",
        "event": "e",
        "resume": True,
        "retry": {"max_attempts": 100, "backoff": 0},
        "priority": chance.randrange(9),
    }
    await scene.job("newest", **common)
    await scene.job("each", deliver=Deliver.EACH, **common)
    await scene.job("beside", overlap="allow", **common)


async def meddle(scene: Scene, events: EventQueue, chance: random.Random) -> None:
    """Emit as many events as a run lists; meanwhile people work, and a server dies now and then."""
    for number in range(LISTED):
        await events.emit(NewEvent("e", "test", {"n": number}))
        if chance.random() < 0.4:
            with contextlib.suppress(ConflictError):
                await scene.queue.request(chance.choice(JOBS), user="anna")
        if chance.random() < 0.2:
            await save_jobs(scene, chance)
        if chance.random() < 0.1:
            await scene.queue.start("dead", 2)
        if chance.random() < 0.2:
            await freeze_or_thaw(scene)
        await asyncio.sleep(0.02 * chance.random())


async def idle(scene: Scene) -> None:
    """Wait until all events are delivered and nothing runs or waits."""

    async def look() -> bool | None:
        left = await scene.rows(
            "SELECT 1 FROM events WHERE state = 'waiting' UNION ALL"
            " SELECT 1 FROM event_deliveries UNION ALL"
            " SELECT 1 FROM runs WHERE status IN ('queued', 'running')"
        )
        return not left or None

    await eventually(look)


async def succeeded(scene: Scene, job: str) -> list[Run]:
    runs = await scene.queue.list_runs(job, RunStatus.SUCCEEDED, limit=10_000)
    return [run for run in reversed(runs) if run.event is not None]


def heard(runs: list[Run]) -> list[int]:
    return [each["id"] for run in runs for each in (run.event or {})["events"]]


async def test_storms_requests_edits_and_restarts_lose_no_event(
    database: Database, tmp_path: Path
) -> None:
    """Failures find further runs waiting, and requested ones; servers end or die; windows open."""
    chance = random.Random(7)
    stormy = Stormy(chance)
    scene = scene_on(database, tmp_path / "spool", [stormy])
    events = EventQueue(database)
    await save_jobs(scene, chance)
    for _ in range(ROUNDS):
        stormy.calm.clear()
        async with control_server(scene, name="a"):
            async with control_server(scene, name="b"):
                await meddle(scene, events, chance)
            await freeze_or_thaw(scene, thaw=True)
            stormy.calm.set()
            await idle(scene)
    emitted = list(range(1, ROUNDS * LISTED + 1))
    for job in JOBS:
        assert sorted(set(heard(await succeeded(scene, job)))) == emitted
    assert heard(await succeeded(scene, "each")) == emitted
