"""A whole remote agent: its settings, its kinds, its end."""

from collections.abc import Callable, Iterator
from typing import Any

from leitstand import __version__
from leitstand.agent import Abilities, Agent, AgentConfiguration
from leitstand.app.archive_wiring import archive_executors
from leitstand.app.control import GRACE_SHARE
from leitstand.app.signals import stop_on_signals
from leitstand.app.worker_call import worker_call
from leitstand.errors import UsageError
from leitstand.execution import (
    Children,
    CommandExecutor,
    Executor,
    HttpExecutor,
    Kinds,
    third_party_executors,
)
from leitstand.settings import LoadedSettings, Settings

WITH_OWN_SOURCE = ("postgres-backup", "postgres-verify", "postgres-rotate")
"""Kinds that work on a server of the agent's own settings; the other kinds of the archive need the
control database."""


async def run_agent(loaded: LoadedSettings, announce: Callable[[str], None]) -> int:
    """Run a remote agent until SIGTERM or SIGINT; a second signal kills what still runs.

    ``announce`` gets the kinds that it offers. Returns how many runs could not be ended. Raises
    RefusedError when the servers do not accept its credential.
    """
    settings, children = loaded.settings, Children()
    configuration = agent_configuration(settings)
    kinds = offered_kinds(settings, children)
    in_worker = worker_call(loaded, children, configuration.shutdown_grace)
    agent = Agent(configuration, __version__, Abilities(kinds, in_worker, children))
    stop = stop_on_signals(children)
    announce(", ".join(kinds))
    return await agent.run(stop)


def agent_configuration(settings: Settings) -> AgentConfiguration:
    """The section ``[agent]`` in the agent's own terms; raises UsageError."""
    agent = settings.agent
    return AgentConfiguration(
        servers=agent.servers,
        client_id=agent.client_id,
        client_secret=agent.client_secret.get_secret_value(),
        directory=agent.directory.absolute(),
        tags=agent.tags,
        slots=agent.slots,
        ca_file=agent.ca_file,
        shutdown_grace=agent.shutdown_grace,
    )


def offered_kinds(settings: Settings, children: Children) -> Kinds:
    """What this machine can carry out, less what ``agent.kinds`` leaves out; raises UsageError."""
    executors = {each.kind: each for each in _executors(settings, children)}
    wanted = settings.agent.kinds or tuple(executors)
    if unknown := sorted(set(wanted) - set(executors)):
        raise UsageError(
            f"agent.kinds: this agent cannot offer {', '.join(unknown)}",
            code="INVALID_SETTINGS",
            remedy=f"It can offer: {', '.join(sorted(executors))}.",
        )
    return Kinds(executors[kind] for kind in wanted)


def _executors(settings: Settings, children: Children) -> Iterator[Executor[Any]]:
    yield CommandExecutor(children=children, grace=settings.agent.shutdown_grace * GRACE_SHARE)
    yield HttpExecutor()
    if settings.backup.postgres.url.get_secret_value():
        yield from (e for e in archive_executors(settings) if e.kind in WITH_OWN_SOURCE)
    yield from third_party_executors()
