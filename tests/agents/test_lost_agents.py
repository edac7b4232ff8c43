"""Agents and servers that are killed, stopped and cut off in the middle of a run."""

import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from leitstand.jobs import RunStatus
from tests.agents.agent_processes import AgentProcess, AgentProcesses
from tests.agents.house import PATIENT, house
from tests.agents.test_agent import log_of, said
from tests.jobs.scene import Scene, eventually
from tests.jobs.server_processes import servers_on
from tests.ports import free_port

LASTING = replace(PATIENT, stale_after=60.0)
"""Long enough for a server to be away."""

RETRY = {"max_attempts": 2, "backoff": 0.05}


async def lines(file: Path, count: int) -> list[str] | None:
    found = file.read_text().splitlines() if file.exists() else []
    return found if len(found) >= count else None


def is_alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


async def both(scene: Scene, agents: AgentProcesses, url: str) -> dict[str, AgentProcess]:
    """Two agents that may take the same run, by instance."""
    started = [await agents.start(name, [url], tags=["pool"]) for name in ("web1", "web2")]
    return {await agent.connected(): agent for agent in started}


async def test_a_killed_agent_leaves_nothing_and_its_run_goes_to_another(
    scene: Scene, agents: AgentProcesses, tmp_path: Path
) -> None:
    """kill -9 during a task: the run ends LEASE_EXPIRED, one retry follows, on another agent."""
    marks = tmp_path / "marks"
    script = f"echo $$ >> {marks}; sleep 1000 & wait"
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["pool"], retry=RETRY)
    async with house(scene) as (_, url):
        by_instance = await both(scene, agents, url)
        run = await scene.running(await scene.queue.request("job"))
        await eventually(partial(lines, marks, 1))
        await by_instance[str(run.owner)].killed()
        ended = await scene.ended(run)
        first, _ = await eventually(partial(lines, marks, 2))
        again = await scene.running(run.id + 1)
        assert not is_alive(first)
    assert (ended.status, ended.error_code) == (RunStatus.FAILED, "LEASE_EXPIRED")
    assert ended.error_message == f"the agent {run.owner} was lost while it ran this"
    assert (again.attempt, again.owner) == (2, next(i for i in by_instance if i != run.owner))
    assert len(await scene.queue.list_runs()) == 2


async def test_a_stopped_agent_fences_itself_and_overwrites_nothing(
    scene: Scene, agents: AgentProcesses, tmp_path: Path
) -> None:
    """SIGSTOP past the stale limit: its child is dead before another starts; what it says after
    SIGCONT is kept beside the run."""
    marks = tmp_path / "marks"
    script = f"echo $$ >> {marks}; exec sleep 1000"
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["pool"], retry=RETRY)
    async with house(scene) as (_, url):
        by_instance = await both(scene, agents, url)
        run = await scene.running(await scene.queue.request("job"))
        await eventually(partial(lines, marks, 1))
        stopped = by_instance[str(run.owner)]
        stopped.signal(signal.SIGSTOP)
        released = await scene.ended(run)
        first, _ = await eventually(partial(lines, marks, 2))
        assert not is_alive(first)
        stopped.signal(signal.SIGCONT)
        late = await eventually(partial(late_results, scene, run.id))
        assert late[0]["outcome"]["error_code"] == "LEASE_EXPIRED"
        assert await scene.queue.get(run.id) == released
        assert (await scene.queue.get(run.id + 1)).status is RunStatus.RUNNING
        assert len(marks.read_text().splitlines()) == 2


async def late_results(scene: Scene, run: int) -> list[dict[str, Any]] | None:
    return [dict(late) for late in await scene.queue.late_results(run)] or None


async def test_a_server_that_is_killed_in_mid_run_is_not_missed(
    scene: Scene, agents: AgentProcesses, tmp_path: Path
) -> None:
    """The agent goes on; log and result are whole when the server is back."""
    go_on = tmp_path / "go-on"
    script = (
        "for n in 1 2 3; do echo before $n; done;"
        f" until [ -e {go_on} ]; do sleep 0.05; echo waiting >&2; done; echo after"
    )
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["web1"])
    port = free_port()
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        first = await (await servers.start(LASTING, port=port)).registered()
        agent = await agents.start("web1", [f"http://127.0.0.1:{port}"])
        run = await scene.running(await scene.queue.request("job"))
        await eventually(partial(said, scene, run, "before 3"))
        await first.killed()
        go_on.touch()
        await eventually(partial(kept, tmp_path / "agent-web1"))
        await servers.start(LASTING, port=port)
        ended = await scene.ended(run)
        assert await agent.stopped() == 0
    assert ended.status is RunStatus.SUCCEEDED
    told = [line for line in (await log_of(scene, run)).split("\n") if line != "waiting"]
    assert told == ["before 1", "before 2", "before 3", "after"]
    assert not list((tmp_path / "agent-web1" / "results").iterdir())


async def kept(directory: Path) -> bool | None:
    return any(directory.glob("results/*.json")) or None


async def test_a_result_outlives_its_agent_while_no_server_is_there(
    scene: Scene, agents: AgentProcesses, tmp_path: Path
) -> None:
    """The agent is killed before it could deliver; the next process of it delivers."""
    go_on = tmp_path / "go-on"
    begun = tmp_path / "begun"
    script = f"echo $$ > {begun}; until [ -e {go_on} ]; do sleep 0.05; done; echo done"
    await scene.job("job", kind="command", params={"shell": script}, runs_on=["web1"])
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        first = await (await servers.start(LASTING, port=port)).registered()
        agent = await agents.start("web1", [url])
        run = await scene.running(await scene.queue.request("job"))
        await eventually(partial(lines, begun, 1))
        await first.killed()
        go_on.touch()
        await eventually(partial(kept, tmp_path / "agent-web1"))
        await agent.killed()
        await servers.start(LASTING, port=port)
        await agents.start("web1", [url])
        ended = await scene.ended(run)
    assert ended.status is RunStatus.SUCCEEDED
    assert await log_of(scene, run) == "done"


async def test_two_servers_and_one_of_them_goes(
    scene: Scene, agents: AgentProcesses, tmp_path: Path
) -> None:
    """The agent stays at work with the other; what runs is not disturbed."""
    ports = [free_port(), free_port()]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    await scene.job("long", kind="command", params={"argv": ["sleep", "1000"]}, runs_on=["web1"])
    await scene.job("short", runs_on=["web1"])
    async with servers_on(scene.database.conninfo, tmp_path) as servers:
        first, _ = [await servers.start(PATIENT, port=port) for port in ports]
        await agents.start("web1", urls)
        run = await scene.running(await scene.queue.request("long"))
        await first.killed()
        short = await scene.ended(await scene.queue.request("short"))
        assert short.status is RunStatus.SUCCEEDED
        await scene.queue.cancel(run.id)
        assert (await scene.ended(run)).status is RunStatus.CANCELLED
