"""A remote agent as a process of its own, for tests that kill it; it ends on SIGTERM."""

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import structlog

from leitstand.agent import Abilities, Agent, AgentConfiguration
from leitstand.app.signals import stop_on_signals
from leitstand.errors import LeitstandError
from leitstand.execution import (
    Children,
    CommandExecutor,
    HttpExecutor,
    Kinds,
    Reporter,
    Result,
    RunFacts,
    run_in_worker,
)
from tests.jobs.scene import Nap, Noop


async def serve(config: dict[str, Any]) -> int:
    children = Children()

    async def in_worker(kind: str, params: Any, run: RunFacts, reporter: Reporter) -> Result:
        factory = "tests.execution.worker_executors:make"
        return await run_in_worker(kind, params, run, reporter, factory, children=children)

    kinds = Kinds([CommandExecutor(children=children, grace=1.0), HttpExecutor(), Noop(), Nap()])
    configuration = AgentConfiguration(**config["configuration"])
    agent = Agent(configuration, "test", Abilities(kinds, in_worker, children))
    return await agent.run(stop_on_signals(children))


def main(config: dict[str, Any], log: Path) -> None:
    """Run until SIGTERM; the exit status is 1 when runs were left behind, 3 after an error."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    os.environ.update(config["environment"])
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    try:
        left = asyncio.run(serve(config))
    except LeitstandError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr, flush=True)
        sys.exit(3)
    sys.exit(min(1, left))
