"""What befalls runs: a kind that fails as often as not, windows that come and go."""

import asyncio
import random
from datetime import UTC, datetime
from typing import ClassVar

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Isolation, Params, Reporter, Result, RunFacts
from leitstand.jobs import WindowLedger, parse_window
from tests.jobs.scene import NoParams, Scene
from tests.jobs.windows import HOUR


class Stormy:
    """Fails as often as not, until the weather is better."""

    kind: ClassVar[str] = "stormy"
    params: ClassVar[type[Params]] = NoParams
    isolation: ClassVar[Isolation] = Isolation.INLINE

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.calm = asyncio.Event()

    async def execute(self, params: NoParams, run: RunFacts, reporter: Reporter) -> Result:
        await asyncio.sleep(0.02 * self._chance.random())
        if not self.calm.is_set() and self._chance.random() < 0.5:
            raise LeitstandError("a storm", failure_class=FailureClass.TRANSIENT)
        return Result()


async def freeze_or_thaw(scene: Scene, *, thaw: bool = False) -> None:
    """Open a window that holds up all jobs, or take it back if there is one."""
    windows = WindowLedger(scene.database)
    if await windows.list_all():
        await windows.delete("freeze")
    elif not thaw:
        now = datetime.now(UTC)
        spec = {"name": "freeze", "from": now - HOUR, "to": now + HOUR}
        await windows.save(parse_window(spec))
