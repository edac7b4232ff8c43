"""Remote agents as control servers see them: who is there, what they get, what they say."""

from leitstand.jobs.agents.agent import AgentInfo
from leitstand.jobs.agents.agent_metrics import AgentMetrics
from leitstand.jobs.agents.board import TaskBoard
from leitstand.jobs.agents.desk import AgentDesk
from leitstand.jobs.agents.ledger import Agents
from leitstand.jobs.agents.waiting import why_waiting

__all__ = ["AgentDesk", "AgentInfo", "AgentMetrics", "Agents", "TaskBoard", "why_waiting"]
