"""Says what a run that only an agent may carry out is waiting for."""

from collections.abc import Sequence

from leitstand.jobs.agents.agent import AgentInfo
from leitstand.jobs.run import Run

SILENT = 90.0
"""Seconds without a heartbeat after which an agent counts as gone; three of the usual beats."""


def why_waiting(run: Run, agents: Sequence[AgentInfo]) -> str:
    """A sentence about a queued run with ``runs_on``."""
    words = ", ".join(run.runs_on or ())
    wanted = f"Run {run.id} waits for an agent with {words} that offers the kind {run.kind}"
    there = [agent for agent in agents if agent.silent_for <= SILENT]
    if not there:
        return f"{wanted}: no agent is connected."
    fitting = [agent for agent in there if agent.words.issuperset(run.runs_on or ())]
    if not fitting:
        return f"{wanted}: none that is connected has these words ({_named(there)})."
    offering = [agent for agent in fitting if run.kind in agent.kinds]
    if not offering:
        return f"{wanted}: {_named(fitting)} does not offer it."
    if all(agent.running.get(run.kind, 0) >= agent.slots for agent in offering):
        return f"{wanted}: {_named(offering)} is busy."
    return f"{wanted} ({_named(offering)}), its group, or the end of the run before it."


def _named(agents: Sequence[AgentInfo]) -> str:
    return ", ".join(agent.instance for agent in agents)
