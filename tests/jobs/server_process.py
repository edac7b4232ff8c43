"""A control server as a process of its own, for tests that kill it.

``python -m tests.jobs.server_process '{"conninfo": …, "spool": …, "loop": {…}}'``; it prints its
instance once it is registered, and ends on SIGTERM.
"""

import asyncio
import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import structlog

from leitstand.jobs import ControlServer, LoopSettings
from leitstand.store.database import Database
from tests.jobs.scene import scene_on


async def serve(config: dict[str, Any]) -> int:
    async with Database(config["conninfo"]) as database:
        scene = scene_on(database, Path(config["spool"]))
        server = ControlServer(
            scene.domain(grace=config.get("grace", 1.0)),
            LoopSettings(**config["loop"]),
            config.get("name", "p"),
            "test",
        )
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        announcing = asyncio.create_task(_announce(database, server))
        left = await server.run(stop)
        announcing.cancel()
        return left


async def _announce(database: Database, server: ControlServer) -> None:
    while True:
        async with database.connection() as connection:
            rows = await connection.execute(
                "SELECT 1 FROM servers WHERE instance = %s", (server.instance,)
            )
            if await rows.fetchone():
                break
        await asyncio.sleep(0.02)
    print(server.instance, flush=True)


if __name__ == "__main__":
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    sys.exit(min(1, asyncio.run(serve(json.loads(sys.argv[1])))))
