"""An agent at its work: tasks, logs, cancellation, results."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from leitstand.jobs import Run, RunStatus
from tests.agents.agent_processes import AgentProcess, AgentProcesses
from tests.agents.house import PATIENT, house
from tests.jobs.scene import Running, Scene, eventually

SLEEP = {"argv": ["sleep", "1000"]}


async def counted(running: Running, status: str) -> bool | None:
    return running.server.outcomes[status] == 1 or None


async def log_of(scene: Scene, run: Run) -> str:
    """The run's whole log."""
    entries, after = [], 0
    while piece := await scene.queue.logs(run.id, after):
        entries += piece
        after = piece[-1].id
    return "\n".join(entry.text for entry in entries)


async def said(scene: Scene, run: Run, words: str) -> bool | None:
    return words in await log_of(scene, run) or None


async def test_a_task_goes_to_the_agent_and_comes_back(
    scene: Scene, agents: AgentProcesses
) -> None:
    """Log, progress, owner, token and result are those of the agent."""
    script = "echo one; echo ::progress 40 half; echo $LEITSTAND_FENCING_TOKEN; echo two"
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["web1"])
    async with house(scene) as (running, url):
        agent = await agents.start("web1", [url])
        run = await scene.ended(await scene.queue.request("job"))
        assert run.owner == await agent.connected()
        await eventually(partial(counted, running, "succeeded"))
        assert await agent.stopped() == 0
    assert (run.status, run.result and run.result["exit_code"]) == (RunStatus.SUCCEEDED, 0)
    assert await log_of(scene, run) == f"one\n{run.fencing_token}\ntwo"
    assert (run.progress_percent, run.progress_message) == (40.0, "half")
    assert await scene.rows("SELECT 1 FROM agents") == []


async def test_log_and_progress_are_there_while_it_runs_and_it_is_cancelled_at_once(
    scene: Scene, agents: AgentProcesses
) -> None:
    """A cancellation does not wait for the next heartbeat, which is a minute away here."""
    script = "echo ::progress 7 going; echo begun; trap 'echo ended; exit 1' TERM; sleep 999 & wait"
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["web1"])
    async with house(scene, replace(PATIENT, heartbeat=60, stale_after=300)) as (_, url):
        await agents.start("web1", [url])
        run = await scene.queue.request("job")
        await eventually(partial(said, scene, run, "begun"))
        await scene.when(lambda r: r.progress_percent == 7, run.id)
        await scene.queue.cancel(run.id)
        ended = await scene.ended(run)
    assert (ended.status, ended.error_code) == (RunStatus.CANCELLED, "CANCELLED")
    assert await log_of(scene, run) == "begun\nended"


async def test_a_flood_is_bounded_and_costs_the_server_nothing_else(
    scene: Scene, agents: AgentProcesses
) -> None:
    """50 MB of lines, one of 20 MB, and bytes that are no text."""
    script = "yes 'a flood of lines' | head -c 50000000; head -c 20000000 /dev/zero; printf '\\377'"
    await scene.job("flood", kind="command", params={"shell": script}, runs_on=["web1"])
    async with house(scene, replace(PATIENT, stale_after=10)) as (_, url):
        await agents.start("web1", [url])
        run = await scene.ended(await scene.queue.request("flood"), patience=60)
    text = await log_of(scene, run)
    assert run.status is RunStatus.SUCCEEDED
    assert text.startswith("a flood of lines\n")
    assert "bytes left out" in text
    assert len(text) < 1_000_000


async def test_one_task_of_a_kind_at_a_time(scene: Scene, agents: AgentProcesses) -> None:
    """Two kinds side by side, two commands one after the other; more slots, more at a time."""
    for name in ("a", "b", "c"):
        await scene.job(name, kind="command", params=SLEEP, runs_on=["web1"])
    await scene.job("nap", kind="nap", params={"seconds": 1000}, runs_on=["web1"])
    async with house(scene) as (_, url):
        first = await agents.start("web1", [url])
        for name in ("a", "b", "c", "nap"):
            await scene.queue.request(name)
        await eventually(partial(running_jobs, scene, {"a", "nap"}))
        second = await agents.start("web1", [url], slots=2)
        await eventually(partial(running_jobs, scene, {"a", "b", "c", "nap"}))
        owners = await scene.rows("SELECT job, owner FROM runs ORDER BY job")
        one, two = await first.connected(), await second.connected()
        assert [row["owner"] for row in owners] == [one, two, two, one]


async def running_jobs(scene: Scene, names: set[str]) -> bool | None:
    rows = await scene.rows("SELECT job FROM runs WHERE status = 'running'")
    return {row["job"] for row in rows} == names or None


async def test_words_decide_who_is_given_what(scene: Scene, agents: AgentProcesses) -> None:
    """All words must be there; the name is one of them; servers leave such runs alone."""
    await scene.job("tagged", runs_on=["linux", "big"])
    await scene.job("named", runs_on=["web1"])
    await scene.job("both", runs_on=["web1", "big"])
    await scene.job("here")
    async with house(scene) as (running, url):
        web1 = await agents.start("web1", [url], tags=["linux"])
        web2 = await agents.start("web2", [url], tags=["linux", "big"])
        names = ("tagged", "named", "both", "here")
        runs = {name: await scene.queue.request(name) for name in names}
        owners = {
            name: (await scene.ended(runs[name])).owner for name in ("tagged", "named", "here")
        }
        assert owners == {
            "tagged": await web2.connected(),
            "named": await web1.connected(),
            "here": running.server.instance,
        }
        assert (await scene.queue.get(runs["both"].id)).status is RunStatus.QUEUED


async def test_what_holds_for_runs_of_servers_holds_for_those_of_agents(
    scene: Scene, agents: AgentProcesses
) -> None:
    """Dependencies, groups, priorities, timeouts, schedules and attempts."""
    on: dict[str, Any] = {"runs_on": ["web1"], "retry": {"max_attempts": 1}}
    await scene.job("first", **on)
    await scene.job("needs", depends_on=["first"], **on)
    await scene.job("slow", kind="command", params=SLEEP, timeout=0.3, **on)
    await scene.job("here", kind="gate", group="one")
    await scene.job("low", group="one", **on)
    await scene.job("high", group="one", priority=5, **on)
    await scene.job("every", every="1s", **on)
    async with house(scene) as (_, url):
        await agents.start("web1", [url])
        needs = await scene.ended(await scene.queue.request("needs"))
        assert (needs.status, needs.error_code) == (RunStatus.FAILED, "DEPENDENCY_NOT_SATISFIED")
        assert needs.failure_class == "transient"
        await scene.let_in("here")
        low, high = [await scene.queue.request(name) for name in ("low", "high")]
        slow = await scene.ended(await scene.queue.request("slow"))
        assert (slow.status, slow.error_code) == (RunStatus.FAILED, "TIMEOUT")
        assert (await scene.queue.get(low.id)).status is RunStatus.QUEUED
        scene.gate.opened.set()
        low, high = await scene.ended(low), await scene.ended(high)
        assert high.started_at and low.started_at and high.started_at < low.started_at
        await eventually(partial(ended_runs, scene, "every", 2))


async def ended_runs(scene: Scene, job: str, count: int) -> bool | None:
    runs = await scene.queue.list_runs(job=job, status=RunStatus.SUCCEEDED)
    return len(runs) >= count or None


async def test_an_agent_that_ends_cancels_and_delivers(
    scene: Scene, agents: AgentProcesses
) -> None:
    """SIGTERM: what runs is cancelled within the grace, and resumed elsewhere if the job wants."""
    await scene.job("job", kind="command", params=SLEEP, runs_on=["pool"], resume=True)
    async with house(scene) as (_, url):
        first = await agents.start("web1", [url], tags=["pool"])
        run = await scene.running(await scene.queue.request("job"))
        second = await agents.start("web2", [url], tags=["pool"])
        await second.connected()
        assert await first.stopped() == 0
        ended = await scene.ended(run)
        again = await scene.running(run.id + 1)
        assert again.owner == await second.connected()
    assert (ended.status, ended.error_message) == (RunStatus.CANCELLED, "the agent was shut down")


async def test_a_wrong_secret_ends_the_agent_with_a_clear_error(
    scene: Scene, agents: AgentProcesses
) -> None:
    async with house(scene) as (_, url):
        agent = await agents.start("web1", [url], client_secret="ü")
        assert await gone(agent) == 3
    assert agent.logged("UNAUTHENTICATED: ")
    assert agent.logged("the credential is not valid")


async def test_a_credential_that_is_revoked_during_work(
    scene: Scene, agents: AgentProcesses, tmp_path: Path
) -> None:
    """The agent kills its child at once and ends; the result is kept for better days."""
    script = "echo begun; sleep 1000"
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["web1"])
    async with house(scene) as (_, url):
        agent = await agents.start("web1", [url])
        run = await scene.queue.request("job")
        await eventually(partial(said, scene, run, "begun"))
        await scene.rows("UPDATE module_credentials SET revoked_at = now() RETURNING 1")
        assert await gone(agent) == 3
        ended = await scene.ended(run)
    assert (ended.status, ended.error_code) == (RunStatus.FAILED, "LEASE_EXPIRED")
    assert [path.name for path in (tmp_path / "agent-web1" / "results").iterdir()] == [
        f"{run.id}-{ended.fencing_token}.json"
    ]


async def gone(agent: AgentProcess) -> int | None:
    """The exit status of an agent that ends by itself."""
    await asyncio.to_thread(agent.process.join, 20)
    return agent.process.exitcode
