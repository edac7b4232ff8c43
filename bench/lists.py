"""How long pages and lists take over HTTP, beside a history of a million runs of 100 jobs.

A real server answers, a client on the same machine asks one after the other.
"""

import asyncio
import tempfile
import time
from pathlib import Path

import httpx

from bench.server import BenchServer
from leitstand.access import Role
from leitstand.store.database import Database
from leitstand.store.schema import upgrade
from leitstand.web import bind, serving
from tests.jobs.history import fill_history
from tests.web.scene import web_on

RUNS = 1_000_000
ROUNDS = 100
PROMISE = 300
"""Milliseconds, at the 95th percentile."""

PATHS = [
    "/",
    "/jobs",
    "/jobs/job-042",
    "/runs",
    "/runs?status=failed",
    "/runs?job=job-042",
    "/runs?job=job-042&status=failed",
    f"/runs/{RUNS // 2}",
    "/api/v1/jobs",
    "/api/v1/runs",
    "/api/v1/runs?limit=500",
    "/api/v1/runs?status=failed",
    "/api/v1/runs?status=running",
    "/api/v1/runs?job=job-042&status=failed",
    f"/api/v1/runs?cursor={RUNS // 2}",
    f"/api/v1/runs/{RUNS // 2}",
]


async def ask(conninfo: str) -> None:
    """Ask for everything and print how long it took."""
    with tempfile.TemporaryDirectory() as directory, bind("127.0.0.1", 0) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with Database(conninfo) as database:
            web = await web_on(database, Path(directory))
            headers = {"Authorization": f"Bearer {web.tokens[Role.VIEWER]}"}
            async with (
                serving(web.app, listener),
                httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as client,
            ):
                for path in PATHS:
                    print(f"  {path:42} {await measured(client, path)}", flush=True)


async def measured(client: httpx.AsyncClient, path: str) -> str:
    """Median and 95th percentile, as a text."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = await client.get(path)
        took.append(1000 * (time.perf_counter() - began))
        assert answer.status_code == httpx.codes.OK, (path, answer.status_code)
    took.sort()
    middle, p95 = took[ROUNDS // 2], took[ROUNDS * 95 // 100]
    verdict = "" if p95 < PROMISE else f"   over {PROMISE} ms"
    return f"{middle:7.1f} ms   p95 {p95:7.1f} ms{verdict}"


def report(server: BenchServer) -> None:
    """Measure and print."""
    conninfo = server.create_database("lists")
    upgrade(conninfo)
    fill_history(conninfo, RUNS)
    print(f"lists over HTTP beside {RUNS} runs of 100 jobs, {ROUNDS} requests each:")
    asyncio.run(ask(conninfo))
