"""Real backups for the tests of this folder, and a word at the end on ``pg_verifybackup``."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.archive.postgres.backup_scene import Scene, take_scene
from tests.archive.postgres.damage import copy_generation
from tests.conftest import make_short_dir

# how long an example takes says more about the machine than about the code
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

COMPARISON = "pg_verifybackup beside leitstand"
"""The property under which a test records (damage, pg_verifybackup's verdict, our finding)."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what pg_verifybackup does not find; all of the matrix with ``-v``."""
    reports = terminalreporter.getreports("passed")
    rows = sorted(
        v for report in reports for name, v in report.user_properties if name == COMPARISON
    )
    if not rows:
        return
    found = sum(theirs == "found" for _, theirs, _ in rows)
    terminalreporter.section("damage to a full backup, and what pg_verifybackup says")
    for damage, theirs, ours in rows:
        if theirs != "found" or terminalreporter.verbosity > 0:
            terminalreporter.line(f"{damage:38} {theirs:9} leitstand: {ours}"[:110])
    terminalreporter.line(f"pg_verifybackup found {found} of {len(rows)}, leitstand all")


@pytest.fixture(scope="session")
def scene() -> Iterator[Scene]:
    """Two generations, taken once; who damages one does it to a copy (``generation``)."""
    top = make_short_dir()
    try:
        yield take_scene(top)
    finally:
        shutil.rmtree(top)


@pytest.fixture
def generation(scene: Scene) -> Iterator[Path]:
    """A copy of a full backup and two increments, on the same file system: it shares the files."""
    with tempfile.TemporaryDirectory(prefix="copy-", dir=scene.generation.parent.parent) as home:
        copy = Path(home) / scene.generation.name
        copy_generation(scene.generation, copy)
        yield copy
