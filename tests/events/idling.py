"""What a reading of a log table costs in which nothing is new."""

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from leitstand.events.detection.reader import Reader
from tests.events.log_scene import LogScene

FILLING = {
    "mysql": "INSERT INTO wt_log (log_type, log_message)"
    " SELECT ELT(1 + seq % 4, 'auth', 'error', 'edit', 'search'), CONCAT('Login: ', seq)"
    " FROM seq_1_to_{rows}",
    "postgresql": "INSERT INTO wt_log (log_type, log_message)"
    " SELECT (ARRAY['auth', 'error', 'edit', 'search'])[1 + n % 4], 'Login: ' || n"
    " FROM generate_series(1, {rows}) AS n",
    "sqlite": "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})"
    " INSERT INTO wt_log (log_type, log_message)"
    " SELECT CASE n % 4 WHEN 0 THEN 'auth' WHEN 1 THEN 'error' WHEN 2 THEN 'edit' ELSE 'search'"
    " END, 'Login: ' || n FROM s",
}


@dataclass
class Asked:
    """Statements with their seconds until the rows were here, and how many rows those were."""

    statements: list[tuple[str, float]] = field(default_factory=list)
    rows: int = 0

    @property
    def seconds(self) -> float:
        """Of all statements; the database took less: the way there and back is in it."""
        return sum(seconds for _, seconds in self.statements)


@contextmanager
def asked() -> Iterator[Asked]:
    """What readers ask for within the block."""
    noted, execute = Asked(), Reader._execute

    async def noting(self: Reader, statement: str, values: Mapping[str, object]) -> Any:
        began = time.perf_counter()
        rows = await execute(self, statement, values)
        noted.statements.append((statement, time.perf_counter() - began))
        noted.rows += len(rows)
        return rows

    Reader._execute = noting  # type: ignore[method-assign]
    try:
        yield noted
    finally:
        Reader._execute = execute  # type: ignore[method-assign]


async def fill(log: LogScene, rows: int) -> None:
    """Rows of all types, in one statement."""
    await log.execute(FILLING[log.engine.dialect.name].format(rows=rows))


async def idle_passes(log: LogScene, passes: int) -> tuple[Asked, float]:
    """The last of so many readings by all detectors, and their median of seconds."""
    await log.detect()
    times = []
    for _ in range(passes):
        with asked() as noted:
            report = await log.detect()
        assert (report.did, sum(report.emitted.values())) == ("was read", 0)
        times.append(noted.seconds)
    return noted, statistics.median(times)
