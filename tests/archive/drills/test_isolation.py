"""A copy of a server that talks to the world in every way it can: the drill keeps it silent."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.drills.drill_room import drill_room
from leitstand.archive.drills.isolated_server import isolated_server
from leitstand.archive.postgres.backup import take_full, take_incremental
from leitstand.archive.postgres.materialise import materialise
from leitstand.store.account import server_account
from leitstand.store.cluster import Cluster
from leitstand.store.reachable import reachable_binaries
from tests.archive.drills.conftest import left_in
from tests.archive_scene import repository
from tests.conftest import FAST_OPTIONS, make_short_dir, start_postgres

SPACES = ("plain", "with space")
ORIGINS = 15
"""Publishers that the original follows, more than PostgreSQL has room for by default."""
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
    own = (
        f"max_connections = 500\narchive_mode = on\narchive_command = 'touch {top}/archived/%f'\n"
        f"max_active_replication_origins = {2 * ORIGINS}\n"
    )
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
    for number in range(ORIGINS):
        connection.execute("SELECT pg_replication_origin_create(%s)", [f"o{number}"])
        connection.execute("SELECT pg_replication_origin_advance(%s, '0/100')", [f"o{number}"])
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


@contextmanager
def superuser_of_copy(talkative: Talkative) -> Iterator[psycopg.Connection]:
    """A connection to the copy that may do more than a drill's questions."""
    account = server_account()
    binaries = reachable_binaries(account)
    with drill_room(talkative.top / "drills", account, binaries) as room:
        restored = materialise(
            talkative.generation, room / "data", binaries, account, room / "tablespaces"
        )
        with isolated_server(Cluster(restored.data, binaries, account), room, 60) as server:
            conninfo = server.conninfo(server.ways_in.superuser, "postgres")
            with psycopg.connect(conninfo, autocommit=True) as connection:
                yield connection


def one(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]


def test_nothing_of_what_the_original_does_happens(talkative: Talkative) -> None:
    """Cases 21, 22, 23 and 24."""
    assert talkative.archived
    for name in talkative.archived:
        (talkative.top / "archived" / name).unlink()
    hear(talkative.publisher)
    with superuser_of_copy(talkative) as copy:
        assert one(copy, "SELECT pg_logical_emit_message(true, 'a', 'no standby')") is not None
        assert one(copy, "SELECT pg_switch_wal()") is not None
        assert one(copy, "SHOW max_connections") == "20"
        origins = "pg_replication_origin_status WHERE external_id LIKE 'o%'"
        assert one(copy, f"SELECT count(*) FROM {origins}") == ORIGINS
        assert one(copy, "SELECT subenabled FROM pg_subscription") is True
        assert one(copy, "SHOW shared_preload_libraries") == ""
        activity = "SELECT count(*) FROM pg_stat_activity WHERE backend_type"
        assert one(copy, f"{activity} LIKE 'logical%'") == 0
        assert one(copy, f"{activity} = 'archiver'") == 0
    assert talkative.archived == []
    assert hear(talkative.publisher) == 0
    assert left_in(talkative.top / "drills") == []


def test_the_originals_tablespaces_are_not_touched(talkative: Talkative) -> None:
    """Cases 17 and 18."""
    before = state(talkative.top)
    with superuser_of_copy(talkative) as copy:
        assert one(copy, "SELECT count(*) FROM entry") == 10
        assert one(copy, "INSERT INTO spaced VALUES (11) RETURNING id") == 11
        assert one(copy, "SELECT count(*) FROM spaced") == 11
        (places,) = copy.execute(
            "SELECT array_agg(pg_tablespace_location(oid)) FROM pg_tablespace WHERE oid >= 16384"
        ).fetchone() or ([],)
        assert len(places) == len(SPACES)
        assert all(place.startswith(f"{talkative.top}/drills/drill-") for place in places)
    assert state(talkative.top) == before


def state(top: Path) -> dict[str, tuple[int, int, int]]:
    """What a write, or a file made anew, would change in the live tablespaces."""
    found = {}
    for name in SPACES:
        for path in (top / name, *(top / name).rglob("*")):
            status = path.lstat()
            found[str(path)] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    return found
