"""Many evaluators at the same instant tell each series once."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from leitstand.store.database import Database
from tests.alerts.scene import Scene, page

SERIES = 1000


@pytest.mark.parametrize("evaluators", [2, 8])
async def test_exactly_one_notification_for_each_series(
    scene: Scene, conninfo: str, evaluators: int
) -> None:
    """Case 25, in the first firing, in the second after the debounce, and in the resolved."""
    await scene.rule()
    labels = [{"n": str(n)} for n in range(SERIES)]
    bad, well = (page(*((value, each) for each in labels)) for value in (95, 5))
    async with AsyncExitStack() as stack:
        others = [
            Scene(await stack.enter_async_context(Database(conninfo)), scene.now)
            for _ in range(evaluators)
        ]
        for number, looked_at in enumerate([bad, bad, well], start=1):
            found = await asyncio.gather(*(other.look(looked_at) for other in others))
            assert len(await scene.notifications()) == number * SERIES
            told = sum(not verdict.suppressed for each in found for verdict in each.verdicts)
            assert told == SERIES
            for other in others:
                other.now += timedelta(seconds=900)
