"""Fixtures of the event tests."""

from pathlib import Path

import pytest

from leitstand.events import EventQueue
from leitstand.store.database import Database
from tests.jobs.scene import Scene, scene_on


@pytest.fixture
def scene(database: Database, tmp_path: Path) -> Scene:
    """Ledgers of jobs on a database of the test's own."""
    return scene_on(database, tmp_path / "spool")


@pytest.fixture
def events(database: Database) -> EventQueue:
    """The queue of events on the same database."""
    return EventQueue(database)
