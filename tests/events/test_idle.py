"""A log table in which nothing is new: few statements, few rows, however long the table is."""

from sqlalchemy import text

from tests.events.idling import fill, idle_passes
from tests.events.log_scene import LogScene

STATEMENTS = 7
ROWS_READ = 30


async def test_an_idle_reading_asks_little(any_log: LogScene) -> None:
    """Cases 7, 9, 19 and 31: all seven detectors share it, and each question is one of the key."""
    await fill(any_log, 20_000)
    noted, _ = await idle_passes(any_log, 2)
    assert len(noted.statements) <= STATEMENTS
    assert noted.rows <= ROWS_READ
    of_the_table = [statement for statement, _ in noted.statements if "wt_log" in statement]
    for statement in of_the_table:
        conditions = statement.partition(" WHERE ")[2].partition(" ORDER BY ")[0]
        assert not {"log_time", "OFFSET", "count("} & set(conditions.split()), statement
    # The newest rows are bounded by the number that is asked for, and read in the key's order.
    by_key = [each for each in of_the_table if " WHERE 1 = 1 " not in each]
    plans = [await plan(any_log, each) for each in by_key]
    assert not any(scans_all(each) for each in plans), plans


async def plan(log: LogScene, statement: str) -> str:
    """How the database answers it."""
    words = {"sqlite": "EXPLAIN QUERY PLAN"}.get(log.engine.dialect.name, "EXPLAIN")
    async with log.engine.connect() as connection:
        rows = await connection.execute(text(f"{words} {statement}"), {"after": 20_000})
        return "\n".join(str(tuple(row)) for row in rows)


def scans_all(told: str) -> bool:
    """Whether it reads the table from one end to the other."""
    return "Seq Scan" in told or "'ALL'" in told or "SCAN wt_log'" in told
