"""Fixtures of the agent tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leitstand.store.database import Database
from tests.agents.agent_processes import AgentProcesses, agents_on
from tests.jobs.scene import Scene, scene_on


@pytest.fixture
def scene(database: Database, tmp_path: Path) -> Scene:
    """Ledgers on a database of the test's own."""
    return scene_on(database, tmp_path / "spool")


@pytest.fixture
async def agents(database: Database, tmp_path: Path) -> AsyncIterator[AgentProcesses]:
    """Agents as processes."""
    async with agents_on(database, tmp_path) as agents:
        yield agents
