"""A forced restore that is killed at any moment: the target is the old one or the new one, whole.

The database has a tablespace, which must be of the same version as the data directory. KILLS rounds
run with every test run; ``KILLS=100 make pytest`` on this file is the long campaign.
"""

import hashlib
import os
import random
import time
from pathlib import Path

from leitstand.archive.postgres.label import TABLESPACE_MAP
from tests.archive.postgres.backup_scene import Scene
from tests.forking import Forker, forker

KILLS = int(os.environ.get("KILLS", "3"))
STAGES = ("full", "newest")


def version_of(data: Path) -> str:
    """A digest over all names and contents, those of tablespaces too; not where they are."""
    whole = hashlib.sha256()
    for folder, directories, files in os.walk(os.fsencode(data), followlinks=True):
        directories.sort()
        for name in sorted(files):
            if name != TABLESPACE_MAP:
                path = os.path.join(folder, name)
                whole.update(os.path.relpath(path, os.fsencode(data)))
                whole.update(Path(os.fsdecode(path)).read_bytes())
    return whole.hexdigest()


def timed(restores: Forker, request: str) -> float:
    """Restore to the end; the seconds that it took."""
    began = time.monotonic()
    restores.start(request)
    assert restores.end().strip()
    return time.monotonic() - began


def test_a_killed_restore_of_a_database(scene: Scene, short_dir: Path) -> None:
    target, chance = short_dir / "target", random.Random(5)
    with forker(
        "tests.archive.postgres.restore_process", str(scene.generation), str(short_dir)
    ) as restores:
        versions, took = {}, {}
        for stage in STAGES:
            took[stage] = timed(restores, f"{stage} here")
            versions[version_of(target)] = stage
        assert len(versions) == 2
        for number in range(KILLS):
            other = STAGES[versions[version_of(target)] == "full"]
            how = "processes" if number % 4 == 3 else "here"
            # Anywhere, and every other time near the end, where the exchange is.
            wait = chance.uniform(0.8 * (number % 2), 1.1) * took[other]
            restores.kill_after(restores.start(f"{other} {how}"), wait)
            assert version_of(target) in versions, f"{other} killed after {wait:.3f} s"
        timed(restores, "newest here")
    assert versions[version_of(target)] == "newest"
    assert len(list((short_dir / "target.tablespaces").iterdir())) == 1
    assert [path.name for path in short_dir.iterdir() if path.name.startswith(".")] == []
