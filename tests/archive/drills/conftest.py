"""Drill settings on a copy of a real backup."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leitstand.archive import ArchiveSettings, DrillSettings, ExpectedAnswer, Policy
from tests.archive_scene import Archive

MakeSettings = Callable[..., ArchiveSettings]


@pytest.fixture
def settings(archive: Archive, short_dir: Path) -> MakeSettings:
    """The archive's settings with drills in ``short_dir/drills``."""

    def make(*queries: ExpectedAnswer, timeout: float = 60.0) -> ArchiveSettings:
        return ArchiveSettings(
            directory=archive.directory,
            restore_log=short_dir / "restore-log.jsonl",
            level=1,
            policy=Policy(keep=7),
            drill=DrillSettings(short_dir / "drills", queries, timeout),
        )

    return make


def left_in(scratch: Path) -> list[str]:
    """What lies in the drills' directory."""
    return sorted(path.name for path in scratch.iterdir())
