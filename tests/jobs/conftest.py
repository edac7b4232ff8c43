"""Fixtures of the job tests."""

from pathlib import Path

import pytest

from leitstand.store.database import Database
from tests.jobs.scene import Scene, scene_on


@pytest.fixture
def scene(database: Database, tmp_path: Path) -> Scene:
    """Ledgers on a database of the test's own."""
    return scene_on(database, tmp_path / "spool")
