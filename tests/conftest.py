"""Fixtures for all tests: short directories that a server account can reach."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A fresh directory with a short path that unprivileged servers may enter.

    pytest's own ``tmp_path`` is closed to other users and too deep for sockets.
    """
    path = Path(tempfile.mkdtemp(prefix="ls-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)
