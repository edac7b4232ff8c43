"""What remote agents tell Prometheus: who is silent, and what they carry out."""

from collections.abc import Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.jobs.agents.ledger import Agents


class AgentMetrics:
    """A source of metrics that is the same on every server.

    By the agent's name: the instances of its processes come and go. One that ended in peace is no
    longer there; one that was lost is silent for a day, then forgotten.
    """

    name = "agents"

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now; an agent is as silent as its last process to speak."""
        silent: dict[str, float] = {}
        running: dict[tuple[str, str], int] = {}
        for process in await self._agents.list_all():
            silent[process.name] = min(
                process.silent_for, silent.get(process.name, process.silent_for)
            )
            for kind in process.kinds:
                held = process.running.get(kind, 0)
                running[process.name, kind] = running.get((process.name, kind), 0) + held
        return [_silence(silent), _runs(running)]


def _silence(silent: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(
        "leitstand_core_agent_silent_seconds",
        "Seconds since a process of the agent was last heard of",
        labels=["agent"],
    )
    for agent, seconds in silent.items():
        family.add_metric([agent], seconds)
    return family


def _runs(running: dict[tuple[str, str], int]) -> Metric:
    family = GaugeMetricFamily(
        "leitstand_core_agent_runs_active",
        "Runs that the agent carries out now, by kind",
        labels=["agent", "kind"],
    )
    for (agent, kind), count in running.items():
        family.add_metric([agent, kind], count)
    return family
