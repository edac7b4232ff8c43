"""Known-answer drills: what was recorded when the backup was taken must come back."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from leitstand.archive import (
    ArchiveSettings,
    CanaryChoice,
    Drill,
    DrillSettings,
    Policy,
    TableChoice,
    drill_database,
)
from leitstand.archive.postgres.backup import Repository, take_full, take_incremental
from leitstand.archive.postgres.canary import Canaries, Canary, Mark
from leitstand.archive.postgres.connection import Source
from leitstand.archive.postgres.stage import SIDECAR, Stage, StageRecord
from tests.conftest import Postgres, make_short_dir

DATABASE = "known"
NAMED = (
    TableChoice(DATABASE, "public.ledger", "id", append_only=True),
    TableChoice(DATABASE, "public.report"),
    TableChoice(DATABASE, "public.fleeting"),
    TableChoice(DATABASE, "public.ledger", "entry"),
    TableChoice("nowhere", "public.ledger"),
)


@dataclass(frozen=True)
class Taken:
    """A full backup and an increment, and where drills of it go."""

    directory: Path
    settings: ArchiveSettings

    @property
    def stage(self) -> Path:
        (increment,) = self.directory.glob("*/incremental/*")
        return increment

    @property
    def canaries(self) -> Canaries:
        record = Stage.read(self.stage).record
        assert record is not None
        assert record.canaries is not None
        return record.canaries

    def drill(self) -> Drill:
        return drill_database(self.settings)

    def rewrite(self, canaries: Canaries) -> None:
        """Have the record know something else."""
        record = Stage.read(self.stage).record
        assert record is not None
        changed = StageRecord(**{**vars(record), "canaries": canaries})
        (self.stage / SIDECAR).write_text(changed.to_json())


@pytest.fixture(scope="module")
def original(archived: Postgres) -> Iterator[Taken]:
    place = make_short_dir()
    archived.create_database(DATABASE)
    try:
        with psycopg.connect(archived.conninfo(DATABASE), autocommit=True) as connection:
            _fill(connection)
        choice = CanaryChoice(NAMED, 50)
        repository = Repository(
            Source.parse(archived.conninfo(DATABASE)),
            place / "backups",
            archived.cluster.binaries,
            canaries=choice,
        )
        take_full(repository)
        take_incremental(repository)
        settings = ArchiveSettings(
            repository.directory, place / "log", 1, Policy(), DrillSettings(place / "drills")
        )
        yield Taken(repository.directory, settings)
    finally:
        archived.drop_database(DATABASE)
        shutil.rmtree(place)


def _fill(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE ledger (id bigint PRIMARY KEY, entry text, price money)")
    connection.execute("INSERT INTO ledger SELECT g, g::text, g FROM generate_series(1, 500) g")
    connection.execute("CREATE TABLE report (at timestamptz)")
    connection.execute("INSERT INTO report VALUES ('2026-03-29 01:30:00+00')")
    connection.execute("CREATE UNLOGGED TABLE fleeting (id int)")
    connection.execute('CREATE TABLE "Odd name" (leitstand_row int)')
    # A cast of the row to text is what somebody's function would be called by.
    connection.execute(
        "CREATE FUNCTION hostile(report) RETURNS text LANGUAGE sql AS 'SELECT (1 / 0)::text'"
    )
    connection.execute("CREATE CAST (report AS text) WITH FUNCTION hostile(report)")


@pytest.fixture
def taken(original: Taken, short_dir: Path) -> Taken:
    """A copy for one test."""
    directory = short_dir / "backups"
    shutil.copytree(original.directory, directory)
    drills = DrillSettings(short_dir / "drills")
    return Taken(directory, replace(original.settings, directory=directory, drill=drills))


def test_what_is_recorded(original: Taken) -> None:
    """Exact answers of what did not change; what has none says why."""
    known = {canary.table: canary for canary in original.canaries.tables}
    assert set(known) == {"public.ledger", "public.report", 'public."Odd name"'}
    assert known["public.ledger"].rows == (500, 500)
    assert known["public.ledger"].greatest == (500, 500)
    assert known["public.report"].digest is not None
    left_out = original.canaries.left_out
    assert (
        left_out[f"{DATABASE}.public.fleeting"] == "there is no ordinary, logged table of this name"
    )
    assert left_out[f"{DATABASE}.public.ledger"] == "it has no integer column entry"
    assert "does not exist" in left_out["nowhere.public.ledger"]
    assert original.canaries.mark is not None


def test_all_of_it_comes_back(taken: Taken) -> None:
    drill = taken.drill()
    assert drill.success, drill.detail
    assert "4 known answers returned" in drill.detail
    assert (drill.canaries["expected"], drill.canaries["returned"]) == (4, 4)
    assert drill.canaries["tables"][f"{DATABASE}.public.ledger"] == {
        "rows": 500,
        "greatest": 500,
        "exact": True,
        "ok": True,
    }
    assert "canaries" in drill.phases


def test_what_does_not_come_back_fails_the_drill(taken: Taken) -> None:
    """Each difference is told; the drill's JSON has what came back."""
    assert taken.canaries.mark is not None
    ledger, *_ = (c for c in taken.canaries.tables if c.table == "public.ledger")
    report, *_ = (c for c in taken.canaries.tables if c.table == "public.report")
    gone = Canary(DATABASE, "public.gone", "", (1, 1), None, None)
    taken.rewrite(
        replace(
            taken.canaries,
            tables=(replace(ledger, rows=(501, 502)), replace(report, digest="1"), gone),
            mark=Mark(DATABASE, "20260101T000000Z-00000000", "", ""),
        )
    )
    drill = taken.drill()
    assert not drill.success
    head, *lines = drill.detail.split("\n")
    assert head.startswith("4 of 4 known answers did not come back: the mark: the mark 20260101T")
    assert lines == [
        f"{DATABASE}.public.gone: there is no ordinary, logged table of this name",
        f"{DATABASE}.public.ledger: it has 500 rows, not 501 to 502",
        f"{DATABASE}.public.report: its rows are not those that were backed up (another digest)",
    ]
    assert drill.canaries["returned"] == 0
    assert drill.canaries["tables"][f"{DATABASE}.public.ledger"]["rows"] == 500
    assert drill.recovery_time is None
