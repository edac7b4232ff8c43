"""A copy whose catalog was set up to break drills or to use them: they pass, and run none of it."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.drills.copy_check import ExpectedAnswer
from leitstand.archive.drills.database_drill import DatabaseDrill, run_database_drill
from leitstand.archive.drills.drill import Drill
from leitstand.archive.postgres.backup import Repository, take_full
from leitstand.archive.postgres.connection import Source
from leitstand.store.account import server_account
from leitstand.store.cluster import SUPERUSER
from leitstand.store.reachable import reachable_binaries
from tests.archive.drills.conftest import left_in
from tests.conftest import Postgres, make_short_dir, start_postgres

TRIGGERED = {
    "by_database": "ALTER DATABASE by_database SET event_triggers = on",
    "by_role": f"ALTER ROLE {SUPERUSER} SET event_triggers = on",
    "by_both": f"ALTER ROLE {SUPERUSER} IN DATABASE by_both SET event_triggers = on",
    "by_all": "ALTER ROLE ALL SET event_triggers = on",
}
"""Databases with event triggers, and what enables it there."""

TRIGGERS = """
CREATE FUNCTION leave_mark() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN COPY (SELECT 1) TO PROGRAM 'cat > {mark}'; END $$;
CREATE EVENT TRIGGER on_login ON login EXECUTE FUNCTION leave_mark();
CREATE EVENT TRIGGER on_amcheck ON ddl_command_start
    WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION leave_mark();
"""

SHOP = """
CREATE SCHEMA trap;
CREATE FUNCTION trap.abs(int) RETURNS int LANGUAGE sql AS 'SELECT 666';
CREATE TABLE entry AS SELECT generate_series(1, 10) AS id;
ALTER TABLE entry ENABLE ROW LEVEL SECURITY;
CREATE ROLE clerk;
GRANT CREATE ON SCHEMA public TO clerk;
SET ROLE clerk;
CREATE FUNCTION next_order() RETURNS int LANGUAGE plpgsql AS $$
    BEGIN COPY (SELECT 1) TO PROGRAM 'cat > {mark}'; RETURN 1; END $$;
CREATE VIEW orders AS SELECT next_order() AS id;
"""
"""What an application has, and what somebody with the rights of one can put there."""

SETTINGS = (
    *TRIGGERED.values(),
    f"ALTER ROLE {SUPERUSER} SET statement_timeout = 1",
    f"ALTER ROLE {SUPERUSER} SET role = clerk",
    "ALTER ROLE ALL SET statement_timeout = 1",
    "ALTER DATABASE template1 SET default_transaction_read_only = on",
    "ALTER DATABASE read_only SET default_transaction_read_only = on",
    "ALTER DATABASE shop SET session_preload_libraries = 'no_such_library'",
    "ALTER DATABASE shop SET local_preload_libraries = 'no_such_library'",
    "ALTER DATABASE shop SET search_path = trap, pg_catalog",
    "ALTER DATABASE shop SET zero_damaged_pages = on",
    "REVOKE CONNECT ON DATABASE shop FROM PUBLIC",
    "ALTER ROLE admin SET statement_timeout = 0",
)

UNEXPECTED = (
    "ALTER DATABASE template0 IS_TEMPLATE false",
    "DROP DATABASE template0",
    "DROP DATABASE postgres",
    f'ALTER ROLE {SUPERUSER} RENAME TO "Bö=""ss"',
    'ALTER ROLE "Bö=""ss" NOLOGIN',
)
"""The databases that initdb makes are gone, and so is the name that it gave the superuser."""


@dataclass(frozen=True)
class Hostile:
    """``generation`` comes from a server, stopped by now; each program that runs leaves a mark."""

    top: Path
    generation: Path

    @property
    def marks(self) -> list[str]:
        return marks_in(self.top)

    def drill(self, *queries: ExpectedAnswer, amcheck: bool = True) -> Drill:
        account = server_account()
        plan = DatabaseDrill(
            generation=self.generation,
            upto="full",
            scratch=self.top / "drills",
            queries=queries,
            phase_timeout=60,
            amcheck=amcheck,
        )
        return run_database_drill(plan, reachable_binaries(account), account)


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    top = make_short_dir()
    try:
        yield Hostile(top, take(top))
    finally:
        shutil.rmtree(top)


def take(top: Path) -> Path:
    (top / "marks").mkdir()
    server_account().own(top / "marks")
    server = start_postgres(top)
    try:
        run_in(server, "postgres", "CREATE ROLE admin SUPERUSER LOGIN", user=SUPERUSER)
        for name in ("shop", "read_only", *TRIGGERED):
            server.create_database(name)
        run_in(server, "shop", SHOP.format(mark=top / "marks/shop"))
        for name in TRIGGERED:
            run_in(server, name, TRIGGERS.format(mark=top / "marks" / name))
            run_in(server, name, "SELECT 1")
        assert marks_in(top) == sorted(TRIGGERED)  # the original really runs them
        for name in TRIGGERED:
            (top / "marks" / name).unlink()
        run_in(server, "read_only", *SETTINGS, *UNEXPECTED)
        source = Source.parse(conninfo(server, "template1"))
        backups = Repository(source, top / "backups", server.cluster.binaries, 1)
        return backups.directory / take_full(backups).generation
    finally:
        server.stop()


def conninfo(server: Postgres, dbname: str, user: str = "admin") -> str:
    return psycopg.conninfo.make_conninfo(server.conninfo(dbname), user=user)


def run_in(server: Postgres, dbname: str, *statements: str, user: str = "admin") -> None:
    with psycopg.connect(conninfo(server, dbname, user), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def marks_in(top: Path) -> list[str]:
    return sorted(os.listdir(top / "marks"))


def test_settings_of_databases_and_roles_do_not_hold_in_a_drill(hostile: Hostile) -> None:
    """A sound backup passes; no event trigger fires, no library is loaded."""
    drill = hostile.drill(
        *(ExpectedAnswer(name, "SHOW event_triggers", "off") for name in TRIGGERED),
        ExpectedAnswer("read_only", "SHOW default_transaction_read_only", "off"),
        ExpectedAnswer("shop", "SHOW session_preload_libraries", ""),
        ExpectedAnswer("shop", "SHOW local_preload_libraries", ""),
        ExpectedAnswer("shop", "SHOW zero_damaged_pages", "off"),
        ExpectedAnswer("shop", "SELECT abs(-1)", "1"),
    )
    assert drill.success, drill.detail
    assert drill.detail.endswith("pg_amcheck found no corruption")
    assert hostile.marks == []
    assert left_in(hostile.top / "drills") == []


def test_questions_reach_all_rows_with_few_rights(hostile: Hostile) -> None:
    drill = hostile.drill(
        ExpectedAnswer("shop", "SELECT count(*) FROM entry", "10"),
        ExpectedAnswer("shop", "SELECT rolsuper FROM pg_roles WHERE rolname = user", "False"),
        ExpectedAnswer("shop", "SELECT count(*) FROM pg_roles WHERE rolcanlogin", "3"),
        amcheck=False,
    )
    assert drill.success, drill.detail


def test_what_a_question_calls_runs_no_program(hostile: Hostile) -> None:
    """The view belongs to somebody who could not run one on the original."""
    drill = hostile.drill(ExpectedAnswer("shop", "SELECT id FROM orders", "1"), amcheck=False)
    assert not drill.success
    assert "permission denied to COPY to or from an external program" in drill.detail
    assert hostile.marks == []
