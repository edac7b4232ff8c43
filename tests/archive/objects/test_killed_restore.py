"""A forced restore that is killed at any moment: the target is the old one or the new one, whole.

KILLS rounds run with every test run; ``KILLS=100 make pytest`` on this file is the long campaign.
"""

import os
import random
import time
from collections.abc import Iterator

from tests.archive.objects.conftest import Scene
from tests.archive.objects.quick_repository import PASSWORD
from tests.archive.objects.test_object_rotation import of
from tests.archive.versions import make_version, version_of
from tests.execution.processes import until
from tests.forking import forker

KILLS = int(os.environ.get("KILLS", "6"))


def moments(took: float) -> Iterator[float]:
    """When to kill: anywhere, and every other time near the end, where the exchange is."""
    chance = random.Random(11)
    while True:
        yield chance.uniform(0.7 * took, 1.1 * took)
        yield chance.uniform(0, took)


async def test_a_killed_restore_of_objects(scene: Scene) -> None:
    source, target = scene.place / "source", scene.place / "target"
    snapshots = {}
    for version in ("a", "b"):
        make_version(source, version)
        snapshots[version] = (await scene.back_up(source)).snapshot.id
    arguments = (str(scene.directory), PASSWORD, str(scene.place))
    with forker("tests.archive.objects.restore_process", *arguments) as restores:
        began = time.monotonic()
        restores.start(snapshots["a"])
        assert restores.end().startswith("{")
        for wait, _ in zip(moments(time.monotonic() - began), range(KILLS), strict=False):
            other = "b" if version_of(target) == "a" else "a"
            restores.kill_after(restores.start(snapshots[other]), wait)
        until(lambda: not of(scene), 30)
        restores.start(snapshots["b"])
        assert restores.end().startswith("{")
    assert version_of(target) == "b"
    assert [path.name for path in scene.place.iterdir() if path.name.startswith(".")] == []
