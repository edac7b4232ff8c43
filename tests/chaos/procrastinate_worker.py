"""A procrastinate worker as a process of its own, set up as its documentation advises.

Each job is a periodic task that may not overlap with itself (a lock) and is retried; a further
periodic task looks for jobs of lost workers and queues them again.
"""

import asyncio
import logging
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import procrastinate

SCHEDULE_EVERY_SECOND = "* * * * * *"


def peer_app(config: dict[str, Any]) -> procrastinate.App:
    """The application with its tasks."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=config["conninfo"]))
    for name in config["jobs"]:
        _add_job(app, name, config)
    _add_rescue(app, config["stale_after"])
    return app


def _add_job(app: procrastinate.App, name: str, config: dict[str, Any]) -> None:
    schedule = f"* * * * * */{config['period']}"

    @app.periodic(cron=schedule)
    @app.task(name=name, lock=name, retry=3, pass_context=True)
    async def work(context: procrastinate.JobContext, timestamp: int) -> None:
        environment = {
            **os.environ,
            "LEITSTAND_JOB": name,
            "LEITSTAND_RUN_ID": str(context.job.id),
            "LEITSTAND_FENCING_TOKEN": f"{context.job.id}/{context.job.attempts}",
        }
        child = await asyncio.create_subprocess_exec("sh", "-c", config["script"], env=environment)
        if await child.wait():
            raise RuntimeError("the script failed")


def _add_rescue(app: procrastinate.App, stale_after: float) -> None:
    @app.periodic(cron=SCHEDULE_EVERY_SECOND)
    @app.task(name="rescue", queueing_lock="rescue")
    async def rescue(timestamp: int) -> None:
        stalled = await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=stale_after)
        for job in stalled:
            await app.job_manager.retry_job(job)


async def _serve(config: dict[str, Any], news: Connection) -> None:
    app = peer_app(config)
    async with app.open_async():
        news.send("worker")
        await app.run_worker_async(
            concurrency=config["slots"],
            fetch_job_polling_interval=config["tick"],
            update_heartbeat_interval=config["heartbeat"],
            stalled_worker_timeout=config["stale_after"],
            shutdown_graceful_timeout=config["grace"],
        )


def main(config: dict[str, Any], log: Path, news: Connection) -> None:
    """Work until SIGTERM."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    real, skew = time.time, config["skew"]
    time.time = lambda: real() + skew
    asyncio.run(_serve(config, news))
