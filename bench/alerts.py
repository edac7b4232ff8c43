"""Seconds for one evaluation of 10,000 series with debounce, states and notifications included."""

import asyncio
import time
from statistics import median

from bench.server import BenchServer
from leitstand.alerts import (
    AlertLedger,
    Evaluator,
    MetricPage,
    RuleLedger,
    Series,
    SilenceLedger,
    parse_rule,
)
from leitstand.notifications import Outbox
from leitstand.store.database import Database
from leitstand.store.schema import upgrade

SERIES = 10_000
ROUNDS = 5
WANTED = 0.3

LABELS = [{"host": f"host-{n % 100}", "disk": f"disk-{n}"} for n in range(SERIES)]


def page(value: float) -> MetricPage:
    """All series with one value."""
    made = MetricPage()
    made.declare("disk_used", "gauge")
    for labels in LABELS:
        made.add("disk_used", Series(labels, value))
    return made


async def measure(conninfo: str) -> dict[str, float]:
    """Seconds of the evaluation in which all begin to fire, all still fire, and all are well."""
    upgrade(conninfo)
    async with Database(conninfo) as database:
        rules = RuleLedger(database)
        await rules.save(
            parse_rule(
                {
                    "metric_name": "disk_used",
                    "comparison": "gt",
                    "threshold": 90,
                    "recipient": "log",
                }
            )
        )
        evaluator = Evaluator(
            database, rules, AlertLedger(database), SilenceLedger(database), Outbox(database)
        )
        steps = {"well": 5.0, "begin to fire": 95.0, "still fire": 95.0, "well again": 5.0}
        return {name: await timed(evaluator, page(value)) for name, value in steps.items()}


async def timed(evaluator: Evaluator, looked_at: MetricPage) -> float:
    """Seconds of one evaluation."""
    began = time.perf_counter()
    await evaluator.evaluate(looked_at)
    return time.perf_counter() - began


def report(server: BenchServer) -> None:
    """Measure and print."""
    rounds = [
        asyncio.run(measure(server.create_database(f"alerts_{number}"))) for number in range(ROUNDS)
    ]
    print(f"one evaluation of {SERIES} series (median of {ROUNDS}; wanted: {WANTED} s):")
    for name in rounds[0]:
        print(f"  {name:14} {median(each[name] for each in rounds):6.3f} s")
