"""The duty that creates the self-protection jobs and starts the first ones, on a real database."""

import asyncio

import pytest

from leitstand.app.archive_wiring import archive_executors
from leitstand.errors import ConflictError
from leitstand.execution import Kinds
from leitstand.jobs import JobLedger, PruneHistory, Queue, RunStatus
from leitstand.protection import (
    Evidence,
    ProtectedJobs,
    ProtectionDuty,
    ProtectionTimes,
    protection_specs,
    refuse_deletion,
)
from leitstand.settings import Settings
from leitstand.store.database import Database

TIMES = ProtectionTimes(
    "0 2 * * *", "30 * * * *", "0 4 * * *", "0 5 * * 0", "0 6 * * 0", "15 3 * * *"
)
NAMES = [
    "self-drill",
    "self-full",
    "self-incremental",
    "self-prune",
    "self-rotate",
    "self-test",
    "self-verify",
]


class Scene:
    """A database with the ledgers, and duties on it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.queue = Queue(database)
        kinds = Kinds([*archive_executors(Settings()), PruneHistory([self.queue], 90)])
        self.jobs = JobLedger(database, kinds)
        self.evidence = Evidence(backup=False, drill=False)

    def duty(self, times: ProtectionTimes = TIMES) -> ProtectionDuty:
        protected = ProtectedJobs(self.jobs, self.queue, protection_specs(times))
        return ProtectionDuty(self.database, protected, lambda: self.evidence, pause=60)

    async def names(self) -> list[str]:
        return [job.name for job in await self.jobs.list_all()]


@pytest.fixture
def scene(database: Database) -> Scene:
    return Scene(database)


async def test_each_start_sees_that_the_jobs_exist(scene: Scene) -> None:
    """What was deleted while protection was off comes back; what is disabled stays so."""
    await scene.duty().create_jobs()
    assert await scene.names() == NAMES
    await scene.jobs.delete("self-rotate")
    await scene.jobs.set_enabled("self-drill", False)
    later = ProtectionTimes(
        "0 1 * * *", "30 * * * *", "0 4 * * *", "0 5 * * 0", "0 6 * * 0", "15 3 * * *"
    )
    await scene.duty(later).create_jobs()
    assert await scene.names() == NAMES
    assert (await scene.jobs.get("self-rotate")).enabled
    assert not (await scene.jobs.get("self-drill")).enabled
    assert (await scene.jobs.get("self-full")).trigger.expression == "0 1 * * *"
    assert all(job.managed for job in await scene.jobs.list_all())


async def test_the_first_backup_is_queued_at_once_and_only_once(scene: Scene) -> None:
    first, second = scene.duty(), scene.duty()
    await asyncio.gather(first.create_jobs(), second.create_jobs())
    assert await scene.names() == NAMES
    steps = await asyncio.gather(*(duty.run_once() for duty in (first, second) * 3))
    assert [step.job for found in steps for step in found] == ["self-full"]
    runs = await scene.queue.list_runs()
    assert [(run.job, run.status) for run in runs] == [("self-full", RunStatus.QUEUED)]


async def test_a_deleted_or_disabled_job_is_never_queued(scene: Scene) -> None:
    duty = scene.duty()
    await duty.create_jobs()
    await scene.jobs.set_enabled("self-full", False)
    assert await duty.run_once() == []
    await scene.jobs.delete("self-full")
    assert await duty.run_once() == []
    assert await scene.queue.list_runs() == []


async def test_the_duty_looks_when_it_is_woken(scene: Scene) -> None:
    duty = scene.duty()
    await duty.create_jobs()
    await scene.jobs.set_enabled("self-full", False)
    task = asyncio.create_task(duty.run())
    try:
        await scene.jobs.set_enabled("self-full", True)
        async with asyncio.timeout(10):
            while not await scene.queue.list_runs():
                duty.wake()
                await asyncio.sleep(0.02)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_own_jobs_are_not_deleted() -> None:
    refuse_deletion("self-made")
    for name in NAMES:
        with pytest.raises(ConflictError) as refused:
            refuse_deletion(name)
        assert f"leitstand job disable {name}" in str(refused.value.remedy)
