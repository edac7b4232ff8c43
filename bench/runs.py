"""No-op runs per second through the whole life cycle, beside two job queues on the same server.

Each contender gets a database of its own and ``RUNS`` queued no-ops; the clock runs from the start
of its worker until the last one is finished. Every contender may work on as many at once.
"""

import asyncio
import logging
import tempfile
import time
from pathlib import Path
from statistics import median

import asyncpg
import procrastinate
import structlog
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.server import BenchServer
from leitstand.jobs import ControlServer, LoopSettings
from leitstand.store.database import Database
from leitstand.store.schema import upgrade
from tests.jobs.scene import scene_on

RUNS = 3000
CONCURRENCY = 100
ROUNDS = 3


async def leitstand(conninfo: str, runs: int) -> float:
    """Leitstand: queued, claimed with a fencing token, run, recorded with its reason."""
    upgrade(conninfo)
    async with Database(conninfo) as database:
        with tempfile.TemporaryDirectory() as spool:
            scene = scene_on(database, Path(spool))
            await scene.job("noop", overlap="allow")
            await scene.rows(
                "INSERT INTO runs (job_id, job, kind, exclusive, trigger_by, scheduled_at)"
                " SELECT j.id, j.name, j.kind, FALSE, 'user', now() FROM jobs AS j"
                " CROSS JOIN generate_series(1, %s) RETURNING id",
                runs,
            )
            settings = LoopSettings(max_concurrent_runs=CONCURRENCY)
            server = ControlServer(scene.domain(), settings, "bench", "bench")
            stop = asyncio.Event()
            began = time.perf_counter()
            task = asyncio.create_task(server.run(stop))
            while server.outcomes["succeeded"] < runs:
                await asyncio.sleep(0.005)
            elapsed = time.perf_counter() - began
            stop.set()
            await task
    return runs / elapsed


async def procrastinate_queue(conninfo: str, runs: int) -> float:
    """procrastinate, with its psycopg connector."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=conninfo))

    @app.task(name="noop")
    async def noop() -> None:
        pass

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await noop.batch_defer_async(*[{} for _ in range(runs)])
        began = time.perf_counter()
        await app.run_worker_async(
            concurrency=CONCURRENCY, wait=False, install_signal_handlers=False
        )
        return runs / (time.perf_counter() - began)


async def pgqueuer_queue(conninfo: str, runs: int) -> float:
    """pgqueuer, with its asyncpg driver, claiming in batches."""
    parts = dict(part.split("=", 1) for part in conninfo.split())
    connection = await asyncpg.connect(
        host=parts["host"], user=parts["user"], database=parts["dbname"]
    )
    try:
        driver = AsyncpgDriver(connection)
        queries = Queries(driver)
        await queries.install()
        queue = PgQueuer(driver)

        @queue.entrypoint("noop")
        async def noop(job: object) -> None:
            pass

        await queries.enqueue(["noop"] * runs, [None] * runs, [0] * runs)
        began = time.perf_counter()
        await queue.qm.run(
            batch_size=CONCURRENCY // 2,  # it wants room for two batches
            mode=QueueExecutionMode.drain,
            max_concurrent_tasks=CONCURRENCY,
        )
        return runs / (time.perf_counter() - began)
    finally:
        await connection.close()


CONTENDERS = {
    "leitstand": leitstand,
    "procrastinate": procrastinate_queue,
    "pgqueuer": pgqueuer_queue,
}


def measure(server: BenchServer) -> dict[str, float]:
    """Median runs per second of each contender, in turns."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    rates: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for number in range(ROUNDS):
        for name, contender in CONTENDERS.items():
            conninfo = server.create_database(f"{name}_{number}")
            rates[name].append(asyncio.run(contender(conninfo, RUNS)))
    return {name: median(values) for name, values in rates.items()}


def report(server: BenchServer) -> None:
    """Measure and print."""
    rates = measure(server)
    peer = max(rates["procrastinate"], rates["pgqueuer"])
    print(f"runs per second ({RUNS} no-ops, {CONCURRENCY} at once, median of {ROUNDS}):")
    for name, rate in rates.items():
        print(f"  {name:14} {rate:8.0f}/s   {rate / peer:5.2f} x the faster peer")
