"""A detector that is broken, in whatever way, is shown, and never stops the others."""

from dataclasses import replace
from pathlib import Path

import pytest

from leitstand.errors import LeitstandError
from leitstand.events.detection import Columns, Detector, LogTable, look_at
from leitstand.events.detection.log_table import LogRow
from leitstand.store.database import Database
from tests.conftest import Postgres
from tests.events.log_scene import log_on_postgres, log_on_sqlite


class Faulty(LogTable):
    """A table whose rows meet a fault of our own."""

    def print_of(self, row: LogRow) -> str:
        """Fail."""
        raise RuntimeError(f"nobody has thought of {row.id}")


async def test_a_fault_stops_no_other_detector(database: Database, tmp_path: Path) -> None:
    log = await log_on_sqlite(database, tmp_path)
    await log.log("Login: old")
    table = log.table
    faulty = Faulty("faulty", table.url, table.table, table.columns, table.detectors)
    first, second = await log.detection(faulty, table).run_once()
    assert second.did == "began"
    assert first.problem is not None
    assert (first.did, first.problem.code) == ("cannot be read", "SOURCE_FAULT")
    states = {each.name: each.state for each in await log.sources()}
    assert states == {"faulty": "unavailable", "webtrees": "watched"}


async def test_a_marker_that_nobody_may_look_for(database: Database, tmp_path: Path) -> None:
    """As in a data directory that is the web server's alone; here its name is too long."""
    log = await log_on_sqlite(database, tmp_path)
    hidden = replace(log.table, name="hidden", offline_marker=tmp_path / ("x" * 300))
    first, second = await log.detection(hidden, log.table).run_once()
    assert second.did == "began"
    assert first.problem is not None
    assert first.problem.code == "OFFLINE_MARKER"
    assert "whether the application of hidden is off line" in first.problem.message


async def test_a_type_that_the_column_cannot_have(database: Database, postgres: Postgres) -> None:
    """It is told where the configuration is checked, and not taken for a server that is away."""
    log = await log_on_postgres(database, postgres)
    await log.execute("CREATE TYPE action AS ENUM ('sale', 'refund')")
    await log.execute("CREATE TABLE audit (id bigint PRIMARY KEY, action action)")
    table = replace(
        log.table,
        name="shop",
        table="audit",
        columns=Columns("id", "action"),
        detectors=(Detector("shop:refund", "refund", "", ""),),
    )
    await look_at(table)
    wrong = replace(table, detectors=(Detector("shop:refund", "Refund", "", ""),))
    with pytest.raises(LeitstandError, match="the table audit of shop cannot be read") as caught:
        await look_at(wrong)
    assert caught.value.code == "SOURCE_UNFIT"
