"""Fixtures of the event tests."""

import itertools
from pathlib import Path

import pytest

from leitstand.events import EventQueue
from leitstand.store.database import Database
from tests.jobs.scene import Scene, scene_on
from tests.mariadb_server import PASSWORD, MariaDb

numbers = itertools.count()


@pytest.fixture
def scene(database: Database, tmp_path: Path) -> Scene:
    """Ledgers of jobs on a database of the test's own."""
    return scene_on(database, tmp_path / "spool")


@pytest.fixture
def events(database: Database) -> EventQueue:
    """The queue of events on the same database."""
    return EventQueue(database)


def create_application(server: MariaDb, name: str) -> None:
    """A database on MariaDB whose user ``app`` may do everything; detectors may SELECT."""
    server.execute(
        f"CREATE DATABASE {name}; CREATE USER IF NOT EXISTS app@'127.0.0.1' IDENTIFIED BY"
        f" '{PASSWORD}'; GRANT ALL ON {name}.* TO app@'127.0.0.1'"
    )
