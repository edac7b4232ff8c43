"""Fixtures for backups: a generation with three increments, taken once and copied for each test."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.postgres.backup import Repository, take_full, take_incremental
from leitstand.archive.postgres.catalogue import Generation, list_generations
from leitstand.archive.postgres.connection import Source
from tests.archive.postgres.backup_scene import shrink_segments
from tests.conftest import Postgres, make_short_dir, start_postgres

DATABASE = "archived"


@dataclass(frozen=True)
class Archive:
    """A repository of which a test may do what it wants, and the server that it comes from."""

    repository: Repository
    server: Postgres

    @property
    def directory(self) -> Path:
        return self.repository.directory

    @property
    def generations(self) -> tuple[Generation, ...]:
        return list_generations(self.directory)

    @property
    def newest(self) -> Generation:
        return self.generations[-1]


def repository(server: Postgres, directory: Path) -> Repository:
    """Backups of ``server`` in ``directory``."""
    return Repository(Source.parse(server.conninfo()), directory, server.cluster.binaries)


@pytest.fixture(scope="session")
def archived() -> Iterator[Postgres]:
    """A server with one small database: all of it is in each backup, restored and drilled."""
    place = make_short_dir()
    try:
        server = start_postgres(place)
        server.stop()
        shrink_segments(server.cluster)
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(place)


@pytest.fixture(scope="session")
def taken(archived: Postgres) -> Iterator[Archive]:
    """A full backup and three increments with changes before each; not to be changed."""
    place = make_short_dir()
    try:
        archived.create_database(DATABASE)
        taken = Archive(repository(archived, place / "backups"), archived)
        with psycopg.connect(archived.conninfo(DATABASE), autocommit=True) as connection:
            connection.execute("CREATE TABLE entry (round int)")
            connection.execute("INSERT INTO entry SELECT 0 FROM generate_series(1, 10000)")
            take_full(taken.repository)
            for number in (1, 2, 3):
                connection.execute("INSERT INTO entry VALUES (%s)", [number])
                take_incremental(taken.repository)
        yield taken
    finally:
        shutil.rmtree(place)


@pytest.fixture
def archive(taken: Archive, short_dir: Path) -> Archive:
    """A copy of ``taken`` for one test."""
    directory = short_dir / "backups"
    shutil.copytree(taken.directory, directory)
    return Archive(repository(taken.server, directory), taken.server)
