"""The remote agent: carries out runs on a machine that reaches no database, only a web server."""

from leitstand.agent.agent import Agent
from leitstand.agent.bench import Abilities
from leitstand.agent.client import RefusedError, ServerClient
from leitstand.agent.configuration import AgentConfiguration

__all__ = ["Abilities", "Agent", "AgentConfiguration", "RefusedError", "ServerClient"]
