"""How a control server ends: what runs is cancelled, written, or left to its lease."""

import asyncio
import signal
import time
from dataclasses import replace
from pathlib import Path

from leitstand.jobs import RunStatus
from tests.jobs.scene import QUICK, Scene, control_server, eventually
from tests.jobs.server_processes import servers_on


async def test_twenty_runs_are_cancelled_at_once(scene: Scene) -> None:
    """Case 57: all rows are final before the end."""
    for number in range(20):
        await scene.job(f"job-{number}", kind="gate")
        await scene.queue.request(f"job-{number}")
    async with control_server(scene, replace(QUICK, max_concurrent_runs=20)) as running:
        await eventually(lambda: _inside(scene, 20))
        assert await running.ended() == 0
    runs = await scene.queue.list_runs(limit=100)
    assert {run.status for run in runs} == {RunStatus.CANCELLED}
    assert {run.error_message for run in runs} == {"the control server was shut down"}
    assert await scene.rows("SELECT 1 FROM servers") == []


async def test_resumable_run_is_queued_again(scene: Scene) -> None:
    await scene.job("plain", kind="gate")
    await scene.job("resumes", kind="gate", resume=True)
    async with control_server(scene) as running:
        for name in ("plain", "resumes"):
            await scene.running(await scene.queue.request(name))
        await running.ended()
    assert len(await scene.queue.list_runs(job="plain")) == 1
    again, first = await scene.queue.list_runs(job="resumes")
    assert (first.status, again.status) == (RunStatus.CANCELLED, RunStatus.QUEUED)
    assert (again.attempt, again.correlation_id) == (2, first.correlation_id)


async def test_run_cancelled_by_a_person_is_not_resumed(scene: Scene) -> None:
    await scene.job(kind="gate", resume=True)
    async with control_server(scene):
        run = await scene.let_in()
        await scene.queue.cancel(run.id)
        await scene.ended(run)
    assert len(await scene.queue.list_runs()) == 1


async def test_stubborn_run_is_left_running(scene: Scene) -> None:
    """What does not end within the grace stays ``running``, and the exit says so."""
    await scene.job(kind="gate", params={"stubborn": True})
    async with control_server(scene, replace(QUICK, shutdown_grace=0.3)) as running:
        run = await scene.let_in()
        assert await running.ended() == 1
        assert (await scene.queue.get(run.id)).status is RunStatus.RUNNING
        assert len(await scene.rows("SELECT 1 FROM servers")) == 1


async def test_commands_that_end_on_term_and_that_ignore_it(scene: Scene, tmp_path: Path) -> None:
    """Case 58: no new claims, both end as cancelled well within the grace, exit status 0."""
    await scene.job("obeys", kind="command", params={"argv": ["sleep", "600"]})
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    await scene.job("ignores", kind="command", params={"shell": stubborn})
    await scene.job("waits")
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        settings = replace(QUICK, max_concurrent_runs=2, shutdown_grace=8.0)
        server = await (await servers.start(settings, grace=1.0)).registered()
        for name in ("obeys", "ignores"):
            await scene.running(await scene.queue.request(name))
        await scene.when(lambda r: r.status is RunStatus.RUNNING, 2)
        await eventually(lambda: _has_log(scene, 2))
        await scene.queue.request("waits")
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGTERM)
        assert await server.stopped() == 0
        assert time.monotonic() - began < 8
    by_job = {run.job: run.status for run in await scene.queue.list_runs()}
    assert by_job == {
        "obeys": RunStatus.CANCELLED,
        "ignores": RunStatus.CANCELLED,
        "waits": RunStatus.QUEUED,
    }


async def test_drained_server_finishes_and_claims_nothing(scene: Scene) -> None:
    await scene.job("works", kind="gate")
    await scene.job("waits")
    async with control_server(scene) as running:
        run = await scene.let_in("works")
        await running.server_drained(scene)
        waiting = await scene.queue.request("waits")
        scene.gate.opened.set()
        assert (await scene.ended(run)).status is RunStatus.SUCCEEDED
        assert (await scene.queue.get(waiting.id)).status is RunStatus.QUEUED


async def test_result_is_written_while_the_server_stops(scene: Scene) -> None:
    """The end of a run and the end of its server at the same moment: one result, not lost."""
    await scene.job(kind="gate")
    async with control_server(scene) as running:
        run = await scene.let_in()
        scene.gate.opened.set()
        await asyncio.gather(running.ended(), scene.ended(run))
    ended = await scene.queue.get(run.id)
    assert ended.status in (RunStatus.SUCCEEDED, RunStatus.CANCELLED)


async def _inside(scene: Scene, count: int) -> bool | None:
    return scene.gate.inside == count or None


async def _has_log(scene: Scene, run_id: int) -> bool | None:
    return bool(await scene.queue.logs(run_id)) or None
