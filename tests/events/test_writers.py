"""Eight writers, slow transactions, rollbacks: nothing lost, nothing repeated."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import text

from tests.events.log_scene import LOGIN, LogScene
from tests.events.test_late_rows import log

__all__ = ["log"]

WRITERS = 8
SECONDS = 6.0
SLOW, SLOW_SHARE, ROLLED_BACK = 1.0, 0.01, 0.1


@dataclass
class Naive:
    """Polls ``id > checkpoint``, as one would."""

    checkpoint: int = 0
    seen: list[str] = field(default_factory=list)

    async def poll(self, log: LogScene) -> None:
        async with log.engine.connect() as connection:
            rows = await connection.execute(
                text("SELECT log_id, log_message FROM wt_log WHERE log_id > :id ORDER BY log_id"),
                {"id": self.checkpoint},
            )
            for number, message in rows:
                self.checkpoint = number
                self.seen.append(message)


async def write(log: LogScene, name: int, until: float, written: set[str]) -> None:
    """Log, slowly now and then, and change one's mind now and then."""
    dice = random.Random(name)
    clock = asyncio.get_running_loop().time
    async with log.engine.connect() as connection:
        number = 0
        while clock() < until:
            number += 1
            message = f"Login: {name}/{number}"
            await log.insert(connection, message)
            await asyncio.sleep(SLOW if dice.random() < SLOW_SHARE else 0.005)
            if dice.random() < ROLLED_BACK:
                await connection.rollback()
            else:
                await connection.commit()
                written.add(message)


async def test_nothing_is_lost_and_nothing_told_twice(log: LogScene) -> None:
    """Cases 10, 11, 17 and 23; the naive poller beside it loses rows in the same seconds."""
    log.listened, log.settled = {LOGIN}, 1.0
    await log.log("Login: old")
    await log.detect()
    naive, written = Naive(checkpoint=1), set[str]()
    clock = asyncio.get_running_loop().time
    until = clock() + SECONDS
    writers = [asyncio.create_task(write(log, n, until, written)) for n in range(WRITERS)]
    while clock() < until:
        await naive.poll(log)
        await log.detect()
    await asyncio.gather(*writers)
    await naive.poll(log)
    while sum((await log.detect()).emitted.values()) or await log.open_ids():
        pass
    told = Counter(await log.messages())
    assert set(told) == written
    assert max(told.values()) == 1
    assert set(naive.seen) < written, "the trap was not there: the test shows nothing"
