"""A copy of a server that talks to the world in every way it can: the drill keeps it silent."""

import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.drills.copy_check import ExpectedAnswer
from leitstand.archive.drills.database_drill import DatabaseDrill, run_database_drill
from leitstand.archive.drills.drill import Drill
from leitstand.archive.postgres.backup import take_full, take_incremental
from leitstand.store.account import server_account
from leitstand.store.reachable import reachable_binaries
from tests.archive.drills.conftest import left_in
from tests.archive_scene import repository
from tests.conftest import FAST_OPTIONS, make_short_dir, start_postgres

SPACES = ("plain", "with space")
LATER = "shared_preload_libraries = 'no_such_library'\nsynchronous_standby_names = 'nobody'\n"
"""What the original would stumble over itself at its next start."""


@dataclass(frozen=True)
class Talkative:
    """``generation`` comes from a server, stopped by now, that did everything below ``top``."""

    top: Path
    generation: Path
    publisher: socket.socket

    @property
    def archived(self) -> list[str]:
        return os.listdir(self.top / "archived")


@pytest.fixture(scope="module")
def talkative() -> Iterator[Talkative]:
    top = make_short_dir()
    with socket.create_server(("127.0.0.1", 0), backlog=100) as publisher:
        publisher.settimeout(20)
        try:
            yield take(top, publisher)
        finally:
            shutil.rmtree(top)


def take(top: Path, publisher: socket.socket) -> Talkative:
    account = server_account()
    for name in (*SPACES, "archived"):
        (top / name).mkdir(mode=0o700)
        account.own(top / name)
    server = start_postgres(top)
    server.stop()
    own = f"max_connections = 500\narchive_mode = on\narchive_command = 'touch {top}/archived/%f'\n"
    configuration = server.cluster.data / "postgresql.conf"
    with configuration.open("a") as file:
        file.write(own)
    options = {k: v for k, v in FAST_OPTIONS.items() if k not in ("max_connections", "wal_level")}
    server.cluster.start(server.socket_dir, server.log_file, {**options, "wal_level": "logical"})
    backups = repository(server, top / "backups")
    try:
        with psycopg.connect(server.conninfo(), autocommit=True) as connection:
            prepare(connection, top, publisher.getsockname()[1])
            publisher.accept()[0].close()  # the original's subscription really calls
            configuration.write_text(configuration.read_text() + LATER)
            take_full(backups)
            connection.execute("INSERT INTO entry SELECT generate_series(1, 10)")
            connection.execute("INSERT INTO spaced SELECT generate_series(1, 10)")
            taken = take_incremental(backups)
    finally:
        server.stop()
    return Talkative(top, backups.directory / taken.generation, publisher)


def prepare(connection: psycopg.Connection, top: Path, port: int) -> None:
    for name, table in zip(SPACES, ("entry", "spaced"), strict=True):
        connection.execute(f"CREATE TABLESPACE \"{name}\" LOCATION '{top / name}'".encode())
        connection.execute(f'CREATE TABLE {table} (id int) TABLESPACE "{name}"'.encode())
    address = f"host=127.0.0.1 port={port} dbname=x connect_timeout=2"
    connection.execute(
        f"CREATE SUBSCRIPTION s CONNECTION '{address}'"
        " PUBLICATION p WITH (connect = false)".encode()
    )
    connection.execute("ALTER SUBSCRIPTION s ENABLE")
    connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'no_such_library'")


def hear(publisher: socket.socket) -> int:
    """How many calls have come in since the last time."""
    publisher.settimeout(0)
    calls = 0
    try:
        while True:
            publisher.accept()[0].close()
            calls += 1
    except BlockingIOError:
        return calls


def run(talkative: Talkative, *queries: tuple[str, str]) -> Drill:
    account = server_account()
    plan = DatabaseDrill(
        generation=talkative.generation,
        upto=os.listdir(talkative.generation / "incremental")[0],
        scratch=talkative.top / "drills",
        roles=("nobody_there", "leitstand"),
        queries=[ExpectedAnswer("postgres", sql, answer) for sql, answer in queries],
        phase_timeout=60,
    )
    return run_database_drill(plan, reachable_binaries(account), account)


def test_nothing_of_what_the_original_does_happens(talkative: Talkative) -> None:
    """Cases 21, 22, 23 and 24."""
    assert talkative.archived
    for name in talkative.archived:
        (talkative.top / "archived" / name).unlink()
    hear(talkative.publisher)
    drill = run(
        talkative,
        ("SELECT pg_logical_emit_message(true, 'a', 'commits with no standby') IS NULL", "False"),
        ("SELECT pg_switch_wal() IS NULL", "False"),
        ("SHOW max_connections", "20"),
        ("SELECT subenabled FROM pg_subscription", "True"),
        ("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logical%'", "0"),
        ("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'archiver'", "0"),
        ("SELECT setting FROM pg_settings WHERE name = 'shared_preload_libraries'", ""),
    )
    assert drill.success, drill.detail
    assert talkative.archived == []
    assert hear(talkative.publisher) == 0
    assert left_in(talkative.top / "drills") == []


def test_the_originals_tablespaces_are_not_touched(talkative: Talkative) -> None:
    """Cases 17 and 18."""
    before = state(talkative.top)
    drill = run(
        talkative,
        ("SELECT count(*) FROM entry", "10"),
        ("SELECT count(*) FROM spaced", "10"),
        ("INSERT INTO spaced VALUES (11) RETURNING id", "11"),
        ("SELECT count(*) FROM spaced", "11"),
        (
            "SELECT count(*) FROM pg_tablespace"
            f" WHERE pg_tablespace_location(oid) LIKE '{talkative.top}/drills/drill-%'",
            "2",
        ),
    )
    assert drill.success, drill.detail
    assert state(talkative.top) == before


def state(top: Path) -> dict[str, tuple[int, int, int]]:
    """What a write, or a file made anew, would change in the live tablespaces."""
    found = {}
    for name in SPACES:
        for path in (top / name, *(top / name).rglob("*")):
            status = path.lstat()
            found[str(path)] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    return found
