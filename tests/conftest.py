"""Fixtures for all tests: short directories, a PostgreSQL server, a database of one's own."""

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from leitstand.store.account import server_account
from leitstand.store.cluster import Cluster
from leitstand.store.database import Database
from leitstand.store.reachable import reachable_binaries
from leitstand.store.schema import upgrade

pytest_plugins = ["tests.archive_scene", "tests.mariadb_server"]

TEMPLATE = "leitstand_template"

MEMORY = "/dev/shm"
ROOM = 4 << 30
"""Bytes that have to be free in memory; two workers were seen to use 0.6 GB."""

FAST_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "summarize_wal": "on",
    "wal_level": "replica",
}


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A fresh directory with a short path that unprivileged servers may enter.

    pytest's own ``tmp_path`` is closed to other users and too deep for sockets.
    """
    with temporary_short_dir() as directory:
        yield directory


def make_short_dir(*, on_disk: bool = False) -> Path:
    """A new directory with a path of few characters that every account may enter.

    In memory if there is room: for what is copied and removed again a disk takes up to ten times as
    long. Long campaigns and measurements are ``on_disk``, as pytest's own directories.
    """
    parent = "/tmp" if on_disk or not _is_memory_fit() else MEMORY
    path = Path(tempfile.mkdtemp(prefix="ls-", dir=parent))
    path.chmod(0o755)
    return path


def _is_memory_fit() -> bool:
    try:
        status = os.statvfs(MEMORY)
    except OSError:
        return False
    room, mode = status.f_bavail * status.f_frsize, status.f_flag
    return room >= ROOM and not mode & (os.ST_NOEXEC | os.ST_RDONLY)


@contextmanager
def temporary_short_dir(*, on_disk: bool = False) -> Iterator[Path]:
    """One that is gone afterwards."""
    directory = make_short_dir(on_disk=on_disk)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@dataclass(frozen=True)
class Postgres:
    """A running test server."""

    cluster: Cluster
    socket_dir: Path
    log_file: Path

    def conninfo(self, dbname: str = "postgres") -> str:
        """The way to a database on this server."""
        return self.cluster.conninfo(self.socket_dir, dbname)

    def start(self) -> None:
        """Start it (again)."""
        self.cluster.start(self.socket_dir, self.log_file, FAST_OPTIONS)

    def stop(self) -> None:
        """Stop it; sessions are cut off."""
        self.cluster.stop()

    def create_database(self, name: str, template: str = "template0") -> None:
        """Create a database; without fsync, copying files is half the work of logging pages."""
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))

    def drop_database(self, name: str) -> None:
        """Drop a database, cutting off whoever uses it."""
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(statement.format(sql.Identifier(name)))


def start_postgres(directory: Path, copied: Path | None = None) -> Postgres:
    """Initialise and start a server below ``directory``; everybody on the machine may log in.

    With ``copied``, a data directory that is not in use, it begins as a copy of that.
    """
    account = server_account()
    data, socket_dir = directory / "data", directory / "s"
    for path in (data, socket_dir):
        path.mkdir(mode=0o700)
        account.own(path)
    cluster = Cluster(data, reachable_binaries(account), account)
    if copied is None:
        cluster.initialise()
        (data / "pg_hba.conf").write_text("local all all trust\nlocal replication all trust\n")
    else:
        subprocess.run(["cp", "-a", f"{copied}/.", data], check=True)
    server = Postgres(cluster, socket_dir, directory / "log")
    server.start()
    return server


@contextmanager
def postgres_with_schema(directory: Path) -> Iterator[Postgres]:
    """A new server below ``directory`` with the migrated schema as a template database."""
    server = start_postgres(directory)
    try:
        server.create_database(TEMPLATE)
        upgrade(server.conninfo(TEMPLATE))
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server for the whole session, with the migrated schema as a template database."""
    with temporary_short_dir() as directory, postgres_with_schema(directory) as server:
        yield server


@pytest.fixture(scope="session")
def cluster_with_schema() -> Iterator[Path]:
    """The data directory of a server that is not running; a copy of it is quicker than initdb."""
    with temporary_short_dir() as directory:
        with postgres_with_schema(directory) as server:
            pass
        yield server.cluster.data


@pytest.fixture
def own_postgres(cluster_with_schema: Path) -> Iterator[Postgres]:
    """A server for one test, which may restart or break it; it has the template database."""
    with temporary_short_dir() as directory:
        server = start_postgres(directory, cluster_with_schema)
        try:
            yield server
        finally:
            server.stop()


numbers = itertools.count()


@pytest.fixture
def conninfo(postgres: Postgres) -> Iterator[str]:
    """The way to a database of the test's own, with the current schema and no rows."""
    name = f"test_{next(numbers)}"
    postgres.create_database(name, TEMPLATE)
    yield postgres.conninfo(name)
    postgres.drop_database(name)


@pytest.fixture
async def database(conninfo: str) -> AsyncIterator[Database]:
    """A pool on the test's own database."""
    async with Database(conninfo) as database:
        yield database
