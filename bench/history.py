"""What people and servers ask the database, beside a history of a million runs.

The history is written by SQL: 100 jobs, 400 days, one of ten runs with a log.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from bench.server import BenchServer
from leitstand.app.control import Control, open_control
from leitstand.app.status import gather_status
from leitstand.settings import load_settings
from leitstand.store.schema import upgrade
from tests.jobs.history import (
    Question,
    failed_half_way,
    fill_history,
    questions,
    retry_and_take_back,
)

RUNS = 1_000_000
ROUNDS = 100
MIDDLE = RUNS // 2
BATCHES = 20
KEPT = 200 * 86400.0

ControlQuestion = Callable[[Control], Awaitable[object]]


def _asked(question: Question) -> ControlQuestion:
    return lambda control: question(control.jobs, control.queue)


QUESTIONS: dict[str, ControlQuestion] = {
    "status page": gather_status,
    "retry, and cancel": lambda control: retry_and_take_back(control.queue, failed_half_way(RUNS)),
    **{name: _asked(question) for name, question in questions("job-042", MIDDLE).items()},
}


async def percentile(question: ControlQuestion, control: Control) -> tuple[float, float]:
    """Median and 95th percentile of the seconds that an answer takes."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await question(control)
        seconds.append(time.perf_counter() - began)
    seconds.sort()
    return seconds[ROUNDS // 2], seconds[ROUNDS * 95 // 100]


async def prune(control: Control) -> tuple[int, float]:
    """Rows removed per second, and the longest batch in seconds."""
    removed, longest, began = 0, 0.0, time.perf_counter()
    for _ in range(BATCHES):
        batch = time.perf_counter()
        removed += await control.queue.prune(KEPT)
        longest = max(longest, time.perf_counter() - batch)
    return round(removed / (time.perf_counter() - began)), longest


async def ask(conninfo: str) -> None:
    """Ask everything and print how long it took."""
    environment = {"LEITSTAND_DATABASE__URL": conninfo}
    async with open_control(load_settings(environ=environment)) as control:
        for name, question in QUESTIONS.items():
            middle, p95 = await percentile(question, control)
            print(f"  {name:40} {1000 * middle:7.1f} ms   p95 {1000 * p95:7.1f} ms", flush=True)
        rate, longest = await prune(control)
        print(f"  {'prune, in batches of 1000':40} {rate} rows/s   longest {1000 * longest:.0f} ms")


def report(server: BenchServer) -> None:
    """Measure and print."""
    conninfo = server.create_database("history")
    upgrade(conninfo)
    began = time.perf_counter()
    fill_history(conninfo, RUNS)
    print(f"history of {RUNS} runs (filled in {time.perf_counter() - began:.0f} s), {ROUNDS} each:")
    asyncio.run(ask(conninfo))
