"""The site on a database of the test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leitstand.store.database import Database
from tests.web.scene import Web, web_on


@pytest.fixture
async def web(database: Database, tmp_path: Path) -> AsyncIterator[Web]:
    """The whole site."""
    web = await web_on(database, tmp_path)
    async with web.downtimes:
        yield web
