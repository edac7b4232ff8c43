"""The way between agents and servers: proxies, TLS, and nobody there."""

import json
from functools import partial
from pathlib import Path

from leitstand.agent_protocol import API
from tests.agents.agent_processes import AgentProcesses
from tests.agents.house import house
from tests.agents.http_proxy import http_proxy, tls_front
from tests.agents.test_agent import gone
from tests.execution.http_server import CERTIFICATE, WebServer, web_server
from tests.jobs.scene import Scene, eventually
from tests.ports import free_port


async def test_through_a_proxy(scene: Scene, agents: AgentProcesses) -> None:
    """HTTP_PROXY is used for all that the agent says."""
    await scene.job("job", runs_on=["web1"])
    async with house(scene) as (_, url), http_proxy() as proxy:
        environment = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": ""}
        agent = await agents.start("web1", [url], environment)
        await scene.ended(await scene.queue.request("job"))
        await agent.stopped()
    asked = {line.rpartition("/")[2] for line in proxy.seen}
    assert asked >= {"hello", "tasks", "heartbeat", "result", "goodbye"}
    assert all(line.startswith(f"POST {url}/api/v1/agent/") for line in proxy.seen)


async def test_through_a_tunnel_to_tls_with_an_authority_of_ones_own(
    scene: Scene, agents: AgentProcesses
) -> None:
    """HTTPS_PROXY, CONNECT, and ``ca_file``; without that file nothing is said to the server."""
    await scene.job("job", runs_on=["web1"])
    async with (
        house(scene) as (_, url),
        http_proxy() as proxy,
        tls_front(int(url.rpartition(":")[2])) as port,
    ):
        environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": ""}
        secure = [f"https://127.0.0.1:{port}"]
        trusting = await agents.start("web1", secure, environment, ca_file=str(CERTIFICATE))
        await scene.ended(await scene.queue.request("job"))
        await trusting.stopped()
        doubting = await agents.start("web2", secure, environment)
        await doubting.logs("CERTIFICATE_VERIFY_FAILED")
    assert set(proxy.seen) == {f"CONNECT 127.0.0.1:{port}"}


async def test_an_agent_waits_for_its_servers(scene: Scene, agents: AgentProcesses) -> None:
    """Nobody is there at first; the wrong one answers first of two."""
    await scene.job("job", runs_on=["web1"])
    port = free_port()
    nobody = f"http://127.0.0.1:{free_port()}"
    agent = await agents.start("web1", [nobody, f"http://127.0.0.1:{port}"])
    await agent.logs("no control server takes this agent yet")
    async with house(scene, port=port):
        await scene.ended(await scene.queue.request("job"))
        assert await agent.stopped() == 0


async def test_a_task_is_not_done_twice_though_its_result_is_rejected(
    agents: AgentProcesses, tmp_path: Path
) -> None:
    """A server that gives the same task again and again and will not hear how it ended."""
    marks = tmp_path / "marks"
    claim = {"run": 1, "token": 2}
    task = {
        "claim": claim,
        "job": "job",
        "kind": "command",
        "params": {"shell": f"echo done >> {marks}"},
        "attempt": 1,
        "correlation_id": "c",
        "scheduled_at": "2026-01-01T00:00:00Z",
        "timeout": None,
        "event": None,
    }
    vouched = {"registered": True, "held": [1], "beaten": [1], "cancelled": []}
    answers: dict[str, object] = {
        "hello": {"instance": "web1-0", "heartbeat": 1.0, "stale_after": 60.0},
        "tasks": {"tasks": [task]},
        "heartbeat": vouched,
        "reports": {"positions": {}},
        "goodbye": {},
    }
    problem = {"title": "Bad Request", "status": 400, "code": "USAGE"}
    async with web_server() as server:
        for path, body in answers.items():
            server.says(f"{API}/{path}", body=json.dumps(body).encode())
        server.says(f"{API}/result", "400 Bad Request", json.dumps(problem).encode())
        agent = await agents.start("web1", [server.url().rstrip("/")])
        await agent.logs("the servers do not take a result")
        await eventually(partial(asked_with, server, b'"held":[1]'))
        assert await agent.stopped() == 0
    assert marks.read_text() == "done\n"


async def asked_with(server: WebServer, words: bytes) -> bool | None:
    polls = [asked for asked in server.asked if asked.target.endswith("/tasks")]
    return words in polls[-1].body or None


async def test_an_agent_ends_also_when_nobody_answers(agents: AgentProcesses) -> None:
    agent = await agents.start("web1", [f"http://127.0.0.1:{free_port()}"])
    await agent.logs("no control server takes this agent yet")
    agent.process.terminate()
    assert await gone(agent) == 0
