"""A fixture for tests of several folders: a MariaDB server."""

import shutil
from collections.abc import Iterator

import pytest

from tests.archive.integrity.mariadb_server import MariaDb, start_mariadb
from tests.conftest import make_short_dir


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """A MariaDB for the session."""
    directory = make_short_dir()
    server, process = start_mariadb(directory)
    try:
        yield server
    finally:
        process.terminate()
        process.wait(timeout=60)
        shutil.rmtree(directory)
        directory.with_name(directory.name + ".log").unlink()
