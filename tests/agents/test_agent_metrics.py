"""What Prometheus hears of agents."""

from leitstand.agent_protocol import Hello
from leitstand.jobs import AgentMetrics, Agents
from tests.jobs.scene import Scene


async def values(agents: Agents) -> dict[str, dict[tuple[str, ...], float]]:
    """Each family's samples by their labels' values."""
    return {
        family.name: {tuple(s.labels.values()): s.value for s in family.samples}
        for family in await AgentMetrics(agents).collect()
    }


async def test_an_agent_is_as_silent_as_its_last_process_to_speak(scene: Scene) -> None:
    """Two processes of one agent, the first silent for an hour, with a run in the other."""
    agents = Agents(scene.database)
    hello = Hello.model_validate(
        {"host": "h", "pid": 1, "version": "1", "kinds": ["noop", "http"], "tags": [], "slots": 1}
    )
    lost = await agents.register("web1", hello)
    alone = await agents.register("web2", hello)
    await agents.register("web1", hello)
    async with scene.database.connection() as connection:
        await connection.execute(
            "UPDATE agents SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE instance = %s",
            [lost],
        )
    await scene.job("job", runs_on=["web2"])
    await scene.queue.request("job")
    (run,) = await agents.start(alone)

    found = await values(agents)
    silent = found["leitstand_core_agent_silent_seconds"]
    assert set(silent) == {("web1",), ("web2",)}
    assert all(0 <= seconds < 3600 for seconds in silent.values())
    assert found["leitstand_core_agent_runs_active"] == {
        ("web1", "noop"): 0,
        ("web1", "http"): 0,
        ("web2", run.kind): 1,
        ("web2", "http"): 0,
    }


async def test_where_no_agent_is_there_is_no_sample(scene: Scene) -> None:
    found = await values(Agents(scene.database))
    assert found == {
        "leitstand_core_agent_silent_seconds": {},
        "leitstand_core_agent_runs_active": {},
    }
