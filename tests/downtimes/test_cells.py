"""Every cell of the table of events, by `leitstand downtime ingest`, on both databases."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from leitstand.cli.exit_code import ExitCode
from leitstand.cli.main import run
from leitstand.downtimes import open_target
from tests.downtimes.conftest import execute, rows
from tests.downtimes.core import ADD, DELETE, LOAD, SERVICE, START, STOP, T, message

ROW = {
    "hostname": "web01",
    "internal_downtime_id": 42,
    "scheduled_start_time": T,
    "node_name": "core1",
    "entry_time": T - 10,
    "author_name": "nagiosadmin",
    "comment_data": "Patch day",
    "triggered_by_id": 0,
    "is_fixed": 1,
    "duration": 7200,
    "scheduled_end_time": T + 7200,
    "was_started": 0,
    "actual_start_time": 0,
}
HISTORY = {**ROW, "entry_time_usec": 77, "actual_end_time": 0, "was_cancelled": 0}
STARTED = {"was_started": 1, "actual_start_time": T + 1}
OLD_START = {"was_started": 1, "actual_start_time": 5}
ENDED = {"actual_end_time": T + 1, "was_cancelled": 0}

# event, `at` after the start, attr; rows before and after: scheduled, history (None: no row)
CELLS: dict[str, tuple[int, int, int, Any, Any, Any, Any]] = {
    "ADD without rows": (ADD, -10, 0, None, None, {}, {}),
    "ADD resets both": (ADD, 1, 0, OLD_START, {**OLD_START, **ENDED, "actual_end_time": 9}, {}, {}),
    "LOAD without rows": (LOAD, 1, 0, None, None, None, None),
    "LOAD leaves rows alone": (LOAD, 1, 0, {}, {}, {}, {}),
    "START": (START, 1, 0, {}, {}, STARTED, STARTED),
    "START without rows": (START, 1, 0, None, None, STARTED, None),
    "START without a scheduled row": (START, 1, 0, None, {}, STARTED, STARTED),
    "STOP": (STOP, 1, 1, OLD_START, OLD_START, None, {**OLD_START, **ENDED}),
    "STOP by a user": (STOP, 1, 2, OLD_START, OLD_START, None,
                       {**OLD_START, **ENDED, "was_cancelled": 1}),
    "STOP without rows": (STOP, 1, 1, None, None, None, None),
    "DELETE": (DELETE, 1, 0, OLD_START, OLD_START, None, OLD_START),
    "DELETE at the start": (DELETE, 0, 0, {}, {}, None, {}),
    "DELETE before the start": (DELETE, -1, 0, {}, {}, None, None),
    "DELETE without rows": (DELETE, 1, 0, None, None, None, None),
}  # fmt: skip


@pytest.fixture
def place(url: str, conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with settings for a database of either kind, which has the tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEITSTAND_DATABASE__URL", conninfo)
    monkeypatch.setenv("LEITSTAND_DOWNTIMES__DATABASE_URL", url)
    monkeypatch.setenv("LEITSTAND_SERVER__NODE_NAME", "core1")
    assert run(["downtime", "create-tables"]) == ExitCode.DONE
    return tmp_path


@pytest.mark.parametrize("kind", ["host", "service"])
def test_every_cell(kind: str, url: str, place: Path) -> None:
    """Each cell has a downtime of its own, whose id is its place in the table."""
    asyncio.run(put_rows(url, kind))
    fields = SERVICE if kind == "service" else {}
    messages = [
        message(event, T + after, usec=77, attr=attr, downtime_id=number, **fields)
        for number, (event, after, attr, *_) in enumerate(CELLS.values())
    ]
    (place / "in").write_text("\n".join(json.dumps(one) for one in messages))
    assert run(["downtime", "ingest", "in"]) == ExitCode.DONE
    scheduled, history = asyncio.run(rows_by_id(url, kind))
    for number, (name, cell) in enumerate(CELLS.items()):
        then_scheduled, then_history = cell[5:]
        assert scheduled.get(number) == expected(kind, ROW, number, then_scheduled), name
        assert history.get(number) == expected(kind, HISTORY, number, then_history), name


def expected(kind: str, columns: dict[str, Any], number: int, changed: Any) -> Any:
    """The row of a cell's downtime; None for none."""
    if changed is None:
        return None
    service = {"service_description": "HTTP"} if kind == "service" else {}
    return {**columns, **service, "internal_downtime_id": number, **changed}


async def put_rows(url: str, kind: str) -> None:
    """Write the rows before, as the Statusengine worker would have."""
    before = [
        (table, expected(kind, columns, number, changed))
        for number, cell in enumerate(CELLS.values())
        for table, columns, changed in (
            ("scheduleddowntimes", ROW, cell[3]),
            ("downtimehistory", HISTORY, cell[4]),
        )
    ]
    async with open_target(url) as target:
        inserts = [insert(f"statusengine_{kind}_{table}", row) for table, row in before if row]
        await execute(target, *inserts)


async def rows_by_id(url: str, kind: str) -> list[dict[int, dict[str, Any]]]:
    """The rows of both tables, by the id of the downtime."""
    tables = ("scheduleddowntimes", "downtimehistory")
    async with open_target(url) as target:
        found = [await rows(target, f"statusengine_{kind}_{table}") for table in tables]
    return [{row["internal_downtime_id"]: row for row in of_table} for of_table in found]


def insert(table: str, row: dict[str, Any]) -> str:
    values = ", ".join(repr(value) for value in row.values())
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"
