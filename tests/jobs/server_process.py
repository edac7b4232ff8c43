"""A control server as a process of its own, for tests that kill it.

It tells its instance through a pipe once it is registered, and ends on SIGTERM.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import structlog

from leitstand.jobs import ControlServer, LoopSettings
from leitstand.store.database import Database
from tests.jobs.agent_site import agent_site
from tests.jobs.scene import scene_on


async def serve(config: dict[str, Any], news: Connection) -> int:
    async with Database(config["conninfo"]) as database:
        scene = scene_on(database, Path(config["spool"]))
        server = ControlServer(
            scene.domain(grace=config["grace"]),
            LoopSettings(**config["loop"]),
            "p",
            "test",
            clock=lambda: time.time() + config["skew"],
        )
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with AsyncExitStack() as stack:
            if port := config["port"]:
                await stack.enter_async_context(agent_site(database, server, port))
            announcing = asyncio.create_task(_announce(database, server, news))
            left = await server.run(stop)
            announcing.cancel()
        return left


async def _announce(database: Database, server: ControlServer, news: Connection) -> None:
    query = "SELECT 1 FROM servers WHERE instance = %s"
    while True:
        async with database.connection() as connection:
            if await (await connection.execute(query, (server.instance,))).fetchone():
                break
        await asyncio.sleep(0.02)
    news.send(server.instance)


def main(config: dict[str, Any], log: Path, news: Connection) -> None:
    """Run until SIGTERM; the exit status is 1 when runs were left behind."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    sys.exit(min(1, asyncio.run(serve(config, news))))
