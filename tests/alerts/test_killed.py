"""Evaluators that are killed with SIGKILL between any two statements: each change is told once."""

import asyncio

from tests.alerts.scene import Scene
from tests.forking import Forker, forker

MOST = 40
"""More statements than an evaluation has."""


async def test_killed_after_every_statement(scene: Scene, conninfo: str) -> None:
    """Case 21: it fires, and clears, while evaluators die; a message and an event for each."""
    await scene.rule()
    with forker("tests.alerts.killed", conninfo) as helper:
        fired = await killed_until_done(helper, scene, 95)
        assert await scene.told() == ["firing"]
        cleared = await killed_until_done(helper, scene, 5)
        assert await scene.told() == ["firing", "resolved"]
    assert [each.name for each in await scene.events()] == ["alert.firing", "alert.resolved:disk"]
    assert min(fired, cleared) > 5


async def killed_until_done(helper: Forker, scene: Scene, value: float) -> int:
    """Evaluate again and again, each time one statement more; the statements that it takes."""
    for number in range(MOST):
        request = f"{scene.now.isoformat()} {value} {number}"
        await asyncio.to_thread(helper.start, request)
        if (await asyncio.to_thread(helper.end)).strip() == "done":
            return number
        assert len(await scene.told()) <= (1 if value > 90 else 2)
    raise AssertionError("it never came to its end")
