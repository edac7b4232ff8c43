"""Fixtures of the event tests."""

from pathlib import Path

import pytest

from leitstand.events import EventQueue
from leitstand.store.database import Database
from tests.events.log_scene import LogScene, log_on_mariadb, log_on_postgres, log_on_sqlite
from tests.jobs.scene import Scene, scene_on


@pytest.fixture
def scene(database: Database, tmp_path: Path) -> Scene:
    """Ledgers of jobs on a database of the test's own."""
    return scene_on(database, tmp_path / "spool")


@pytest.fixture
def events(database: Database) -> EventQueue:
    """The queue of events on the same database."""
    return EventQueue(database)


@pytest.fixture(params=["mariadb", "postgres"])
async def shared_log(request: pytest.FixtureRequest, database: Database) -> LogScene:
    """An application's log with several writers, on each kind of database in turn."""
    if request.param == "mariadb":
        return await log_on_mariadb(database, request.getfixturevalue("mariadb"))
    return await log_on_postgres(database, request.getfixturevalue("postgres"))


@pytest.fixture(params=["mariadb", "postgres", "sqlite"])
async def any_log(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> LogScene:
    """An application's log on each kind of database in turn."""
    match request.param:
        case "mariadb":
            return await log_on_mariadb(database, request.getfixturevalue("mariadb"))
        case "postgres":
            return await log_on_postgres(database, request.getfixturevalue("postgres"))
    return await log_on_sqlite(database, tmp_path)
