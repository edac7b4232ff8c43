"""What `job why` says about a run that waits for an agent."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from leitstand.jobs import AgentInfo, Records, explain, why_waiting
from tests.jobs.scene import Scene

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AGENT = AgentInfo(
    instance="web1-0",
    name="web1",
    host="h",
    pid=1,
    version="1",
    kinds=("noop",),
    tags=("linux",),
    slots=1,
    started_at=NOON,
    heartbeat_at=NOON,
    silent_for=1.0,
    running={},
)
WANTED = "Run 1 waits for an agent with web1, linux that offers the kind noop"


@pytest.mark.parametrize(
    ("agents", "end"),
    [
        ([], ": no agent is connected."),
        ([replace(AGENT, silent_for=1000.0)], ": no agent is connected."),
        ([replace(AGENT, tags=())], ": none that is connected has these words (web1-0)."),
        ([replace(AGENT, kinds=("http",))], ": web1-0 does not offer it."),
        ([replace(AGENT, running={"noop": 1})], ": web1-0 is busy."),
        ([AGENT], " (web1-0), its group, or the end of the run before it."),
    ],
)
async def test_the_sentence_names_what_is_missing(
    scene: Scene, agents: list[AgentInfo], end: str
) -> None:
    await scene.job("job", runs_on=["web1", "linux"])
    run = await scene.queue.request("job")
    assert why_waiting(run, agents) == WANTED + end


async def test_why_says_it(scene: Scene) -> None:
    await scene.job("job", runs_on=["web1", "linux"])
    await scene.queue.request("job")
    answer = await explain(Records(scene.jobs, scene.queue), "job")
    assert f"{WANTED}: no agent is connected." in answer.sentences
