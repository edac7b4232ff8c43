"""From "run now" to the start of the process, beside the bare start of the same process."""

import asyncio
import logging
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import structlog

from bench.server import BenchServer
from leitstand.jobs import ControlServer, LoopSettings
from leitstand.store.database import Database
from leitstand.store.schema import upgrade
from tests.jobs.scene import Scene, scene_on

ROUNDS = 30
COMMAND = ["bash", "-c", "echo $EPOCHREALTIME"]
"""Says when it was started, in seconds."""


async def from_request_to_start(scene: Scene) -> float:
    """Seconds from the call until the command runs."""
    asked = time.time()
    run = await scene.queue.request("now")
    await scene.ended(run)
    (entry,) = await scene.queue.logs(run.id)
    return float(entry.text) - asked


async def latencies(conninfo: str, settings: LoopSettings, rounds: int) -> list[float]:
    """One control server, one job, requested over and over."""
    async with Database(conninfo) as database:
        with tempfile.TemporaryDirectory() as spool:
            scene = scene_on(database, Path(spool))
            await scene.job("now", kind="command", params={"argv": COMMAND})
            server = ControlServer(scene.domain(), settings, "bench", "bench")
            stop = asyncio.Event()
            task = asyncio.create_task(server.run(stop))
            await from_request_to_start(scene)
            found = [await from_request_to_start(scene) for _ in range(rounds)]
            stop.set()
            await task
    return found


def bare() -> float:
    """Seconds until the same command runs when it is simply started."""
    asked = time.time()
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=True)
    return float(done.stdout) - asked


def report(server: BenchServer) -> None:
    """Measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    conninfo = server.create_database("latency")
    upgrade(conninfo)
    settings = LoopSettings()
    notified = asyncio.run(latencies(conninfo, settings, ROUNDS))
    ticked = asyncio.run(latencies(conninfo, replace(settings, listen=False, tick=1.0), 5))
    floor = median(bare() for _ in range(ROUNDS))
    print(f"run now to process start (median of {ROUNDS}):")
    print(f"  through NOTIFY    {1000 * median(notified):6.0f} ms")
    print(f"  bare start        {1000 * floor:6.0f} ms")
    print(f"  without LISTEN    {median(ticked):6.2f} ticks, at most {max(ticked):.2f}")
