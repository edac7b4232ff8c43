"""A signal that comes once the target is being replaced: the new database is there, and whole."""

import json
import os
import signal
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from leitstand.archive import atomic
from leitstand.archive.postgres import tablespace_home
from leitstand.archive.postgres.restore import Restore, restore_database
from leitstand.store.account import server_account
from tests.archive.postgres.backup_scene import INCREMENTS, Scene
from tests.archive.postgres.test_killed_restore import version_of

STAGES = ("full", INCREMENTS[-1])
LATE = [(atomic, "sync_path"), (atomic, "discard"), (tablespace_home, "discard")]
"""Steps of a restore: the exchange made durable, the old data dropped, the old tablespaces."""


def restore(scene: Scene, place: Path, stage: str) -> str:
    """The version that is in ``place/target`` then."""
    order = Restore(scene.generation, place / "target", place / "log", force=True, upto=stage)
    restore_database(order, scene.binaries, server_account())
    return version_of(order.target)


def interrupted(work: Callable[..., Any], number: signal.Signals) -> Callable[..., Any]:
    def late(*arguments: Any) -> Any:
        os.kill(os.getpid(), number)
        return work(*arguments)

    return late


def test_a_signal_that_comes_too_late(scene: Scene, short_dir: Path) -> None:
    """Between exchange and end the tablespaces were dropped to which the new data leads."""
    versions = {stage: restore(scene, short_dir, stage) for stage in STAGES}
    assert len(set(versions.values())) == 2
    stages = cycle(STAGES)
    for module, step in LATE:
        for number in (signal.SIGTERM, signal.SIGINT):
            stage = next(stages)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, step, interrupted(getattr(module, step), number))
                assert restore(scene, short_dir, stage) == versions[stage]
    results = {json.loads(line)["result"] for line in (short_dir / "log").read_text().splitlines()}
    assert results == {"ok"}
    assert len(list((short_dir / "target.tablespaces").iterdir())) == 1
