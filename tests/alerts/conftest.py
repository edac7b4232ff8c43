"""Fixtures of the alert tests."""

from datetime import UTC, datetime

import pytest

from leitstand.store.database import Database
from tests.alerts.scene import Scene


@pytest.fixture
def scene(database: Database) -> Scene:
    """An evaluator on a database of the test's own, at a noon to come."""
    return Scene(database, datetime(2099, 3, 1, 12, tzinfo=UTC))
