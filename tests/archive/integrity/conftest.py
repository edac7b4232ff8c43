"""Fixtures: an application's documents in a database and a directory, an S3 server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.integrity.document_scene import Documents
from tests.archive.integrity.s3_server import S3Server, start_s3
from tests.conftest import make_short_dir


@pytest.fixture
def documents(conninfo: str, short_dir: Path) -> Documents:
    """An application with no documents yet."""
    documents = Documents(conninfo, short_dir / "objects")
    documents.create_table()
    return documents


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server for the session."""
    directory = make_short_dir()
    server, process = start_s3(directory)
    try:
        yield server
    finally:
        process.terminate()
        process.wait(timeout=60)
        shutil.rmtree(directory)
