"""The doctor's checks: each says what is wrong and what helps."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from leitstand.archive import (
    Drill,
    DrillKind,
    Objectives,
    ObjectRepository,
    Policy,
    judge,
    list_generations,
)
from leitstand.doctor import (
    Finding,
    backup_source,
    clock_skew,
    control_database,
    directory_writable,
    from_error,
    last_drill,
    newest_verified,
    postgres_programs,
    python_version,
    recovery_objectives,
    restic_program,
    room,
    server_running,
)
from leitstand.errors import LeitstandError
from leitstand.jobs import ServerInfo, ServerState
from tests.archive_scene import Archive
from tests.conftest import Postgres

PROMISED = Objectives()
NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
SERVER = ServerInfo("a", "host", 1, "1", NOW, NOW, 1.0, 0.0, False, 4, 0)


def told(finding: Finding) -> str:
    """The problem, which must come with a remedy."""
    assert not finding.ok
    assert finding.remedy
    return str(finding.problem)


def test_machine(tmp_path: Path) -> None:
    assert python_version((3, 11)).ok
    assert "Python 3.10" in told(python_version((3, 10)))
    assert directory_writable("d", tmp_path / "new" / "er", "server.data_dir").ok
    (tmp_path / "file").touch()
    assert "not a directory" in told(directory_writable("d", tmp_path / "file" / "x", "s"))
    assert room("r", tmp_path / "new", 1).ok
    assert "MiB are free" in told(room("r", tmp_path, 1 << 62))


def test_programs(tmp_path: Path) -> None:
    assert postgres_programs("").ok
    assert "pg_basebackup is not in" in told(postgres_programs(str(tmp_path)))
    for name in ("pg_basebackup", "pg_combinebackup", "pg_verifybackup", "pg_waldump"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'pg_basebackup (PostgreSQL) 16.4'\n")
    assert "cannot be run" in told(postgres_programs(str(tmp_path)))
    for program in tmp_path.iterdir():
        program.chmod(0o755)
    assert "of version 16" in told(postgres_programs(str(tmp_path)))


async def test_restic(tmp_path: Path) -> None:
    repository = ObjectRepository(str(tmp_path / "repository"), "password", tmp_path)
    assert (await restic_program(repository)).ok
    assert "is not there" in told(await restic_program(replace(repository, program="/no/restic")))


async def test_control_database(conninfo: str, postgres: Postgres) -> None:
    assert (await control_database(conninfo)).ok
    with psycopg.connect(conninfo) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "version 9999" in told(await control_database(conninfo))
    with psycopg.connect(conninfo) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    assert "is needed" in told(await control_database(conninfo))
    assert told(await control_database(postgres.conninfo())) == "it is empty"
    nowhere = await control_database("host=/nowhere password=secret")
    assert "does not answer" in told(nowhere)
    assert "secret" not in str(nowhere)


def test_backup_source(postgres: Postgres) -> None:
    assert backup_source(postgres.conninfo()).ok
    assert "does not answer" in told(backup_source("host=/nowhere"))
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE ROLE humble LOGIN")
    try:
        humble = f"{postgres.conninfo()} user=humble"
        assert "may not replicate" in told(backup_source(humble))
    finally:
        with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
            connection.execute("DROP ROLE humble")


def test_newest_verified(archive: Archive) -> None:
    generations = list_generations(archive.directory)
    now = datetime.now(UTC)
    assert newest_verified(generations, now, PROMISED).ok
    assert told(newest_verified([], now, PROMISED)) == "there is none"
    assert told(newest_verified([replace(g, verified_at=None) for g in generations], now, PROMISED))
    assert "2.0 days old" in told(newest_verified(generations, now + timedelta(days=2), PROMISED))


def test_last_drill() -> None:
    drill = Drill(NOW, DrillKind.DATABASE, "g", success=True, detail="fine")
    assert last_drill([drill], NOW, PROMISED).ok
    assert told(last_drill([], NOW, PROMISED)) == "no backup was ever proven"
    assert "9.0 days ago" in told(last_drill([drill], NOW + timedelta(days=9), PROMISED))
    assert told(last_drill([replace(drill, success=False)], NOW, PROMISED)) == "it failed: fine"


def test_recovery_objectives(archive: Archive) -> None:
    generations, now = list_generations(archive.directory), datetime.now(UTC)
    promised = Objectives(drill_every=0)
    assert recovery_objectives(judge(promised, generations, Policy(), [], now)).ok
    late = judge(promised, generations, Policy(), [], now + timedelta(days=3))
    assert "The verification is overdue" in told(recovery_objectives(late))


def test_control_servers() -> None:
    assert server_running([SERVER]).ok
    assert told(server_running([])) == "No control server is running, so nothing starts."
    gone = replace(SERVER, silent_for=400, state=ServerState.GONE)
    assert "heard of 6 min 40 s ago" in told(server_running([gone]))
    draining = replace(SERVER, state=ServerState.DRAINING)
    assert "a is draining" in told(server_running([gone, draining]))
    assert server_running([gone, draining, SERVER]).ok
    assert clock_skew([SERVER]).ok
    assert "a on host by -9.5 s" in told(clock_skew([replace(SERVER, clock_skew=-9.5)]))


def test_an_error_is_told_without_its_password() -> None:
    error = LeitstandError("no", detail="postgresql://u:secret@h/d", remedy="Look.")
    assert "secret" not in told(from_error("x", error))
