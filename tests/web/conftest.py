"""The site on a database of the test's own."""

from pathlib import Path

import pytest

from leitstand.store.database import Database
from tests.web.scene import Web, web_on


@pytest.fixture
async def web(database: Database, tmp_path: Path) -> Web:
    """The whole site."""
    return await web_on(database, tmp_path)
