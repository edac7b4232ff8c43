"""The archive's job kinds, each carried out by a real worker process."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import ValidationError

from leitstand.archive import Drill, DrillKind
from leitstand.archive.kinds import (
    DrillFailedError,
    DrillParams,
    require_passed,
    rotation_result,
)
from leitstand.archive.postgres.backup import TEMPORARY
from leitstand.archive.postgres.retention import Plan
from leitstand.archive.postgres.rotate import Failure, Rotation
from leitstand.archive.postgres.stage import BASE
from leitstand.errors import LeitstandError
from leitstand.execution import Result, run_in_worker
from leitstand.store.database import Database
from tests.archive.postgres.test_backup import flip
from tests.archive_scene import Archive
from tests.execution.processes import eventually
from tests.execution.run_scene import Recorded, facts

ROOT = str(Path(__file__).parents[2])
Run = Callable[..., Coroutine[Any, Any, Result]]


@pytest.fixture
def run(archive: Archive, conninfo: str) -> Run:
    """Runs a kind with parameters in a worker process."""

    async def call(
        kind: str, reporter: Recorded | None = None, level: int = 1, **params: Any
    ) -> Result:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH")))),
            "TEST_ARCHIVE": str(archive.directory),
            "TEST_SOURCE": archive.server.conninfo(),
            "TEST_CONTROL": conninfo,
            "TEST_LEVEL": str(level),
        }
        factory = "tests.archive.kind_factory:make"
        told = reporter or Recorded()
        return await run_in_worker(
            kind, params, facts(kind), told, factory, environment=environment
        )

    return call


async def failure(run: Coroutine[Any, Any, Result]) -> LeitstandError:
    with pytest.raises(LeitstandError) as caught:
        await run
    return caught.value


async def test_backup_verify_and_rotate(archive: Archive, run: Run) -> None:
    before = archive.newest.id
    told = Recorded()
    increment = await run("postgres-backup", told, mode="incremental")
    assert increment.result["generation"] == before
    assert increment.bytes_processed > 0
    assert told.lines[-1].startswith(f"incremental backup {before}/")
    assert {message for _, message in told.steps} >= {"copy"}

    full = await run("postgres-backup")
    newest = archive.newest.id
    assert full.result["generation"] == newest > before

    verified = await run("postgres-verify", generation="all")
    assert verified.result["generations"] == [before, newest]
    assert verified.objects_processed == 6
    assert archive.newest.verified_at is not None

    told = Recorded()
    rotated = await run("postgres-rotate", told)
    assert (rotated.objects_processed, rotated.objects_skipped) == (1, 0)
    assert rotated.result["removed"] == [before]
    assert [generation.id for generation in archive.generations] == [newest]
    assert any(line.startswith(f"remove {before}: ") for line in told.lines)

    archive.directory.rename(archive.directory.with_name("unmounted"))
    refused = await failure(run("postgres-backup", mode="incremental"))
    assert (refused.code, newest in refused.message) == ("BACKUP_DIRECTORY_ABSENT", True)
    assert not archive.directory.exists()


def test_what_rotation_cannot_delete_makes_it_partial() -> None:
    failures = (Failure("20261201T170000Z", "full: Device or resource busy"),)
    done = Rotation(Plan(()), ("20261130T170000Z",), failures, freed=10, dry_run=False)
    result = rotation_result(done)
    assert (result.objects_processed, result.objects_skipped) == (1, 1)
    assert result.skip_reasons == ("20261201T170000Z: full: Device or resource busy",)


async def test_damage_is_named(archive: Archive, run: Run, database: Database) -> None:
    """The run fails with the facts, and so does the drill, which is on record."""
    full = archive.newest.path / "full"
    flip(full / BASE, (full / BASE).stat().st_size // 2)
    verified = await failure(run("postgres-verify"))
    assert verified.code == "BACKUP_DAMAGED"
    assert archive.newest.id in verified.message
    assert f"full {BASE}: " in str(verified.detail)
    drilled = await failure(run("restore-drill"))
    assert drilled.code == "DRILL_FAILED"
    assert f"full {BASE}: " in str(drilled.detail)
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT success, source FROM drills")).fetchall()
    assert [row["success"] for row in rows] == [False]


async def test_a_drill_is_recorded(run: Run, database: Database) -> None:
    told = Recorded()
    result = await run("restore-drill", told)
    assert result.result["success"] is True
    assert result.result["recovery_time"] > 0
    assert "phase: start" in told.lines
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT success FROM drills")).fetchall()
    assert [row["success"] for row in rows] == [True]


def test_of_several_drills_each_failure_is_told() -> None:
    def drill(source: str, *, success: bool) -> Drill:
        return Drill(datetime.now(UTC), DrillKind.DATABASE, source, success, "it says why")

    require_passed([drill("a", success=True)])
    drills = [drill("a", success=False), drill("b", success=True), drill("c", success=False)]
    with pytest.raises(DrillFailedError, match="the restore drill of a, c failed") as caught:
        require_passed(drills)
    assert caught.value.detail == "a: it says why\nc: it says why"


@pytest.mark.parametrize("params", [{"older": 1, "generation": "x"}, {"upto": "full"}])
def test_contradictions_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DrillParams(**params)


async def test_without_a_generation(run: Run, archive: Archive) -> None:
    archive.newest.path.rename(archive.directory / "aside")
    assert (await failure(run("postgres-verify"))).code == "NOT_FOUND"
    assert (await failure(run("restore-drill"))).detail == f"no backup found in {archive.directory}"
    refused = await failure(run("postgres-backup", mode="incremental", full_if_needed=False))
    assert refused.code == "BACKUP_NO_GENERATION"


async def test_a_cancelled_backup_leaves_nothing(archive: Archive, run: Run) -> None:
    """Case 26: SIGTERM reaches the worker while pg_basebackup is at work."""
    with psycopg.connect(archive.server.conninfo(), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE much AS SELECT md5(g::text) AS a, md5((g + 1)::text) AS b"
            " FROM generate_series(1, 200000) g"
        )
        before, told = archive.generations, Recorded()
        try:
            task = asyncio.create_task(run("postgres-backup", told, level=9))
            await eventually(lambda: any(percent for percent, _ in told.steps) or task.done())
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        finally:
            connection.execute("DROP TABLE much")
        assert archive.generations == before
        assert not list(archive.directory.glob(f"{TEMPORARY}*"))
        busy = (
            b"SELECT 1 FROM pg_replication_slots WHERE temporary"
            b" UNION ALL SELECT 1 FROM pg_stat_replication"
        )
        await eventually(lambda: not connection.execute(busy).fetchall())
