"""Writers that are slow now and then, and change their minds: the trap of every poller."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import text

from tests.events.log_scene import LOGIN, LogScene

PAUSE = 0.005
"""Seconds between a row and its commit."""


@dataclass(frozen=True)
class Load:
    """How many write for how long (seconds), which share of transactions takes ``slow`` seconds,
    and which is rolled back."""

    writers: int = 8
    seconds: float = 60.0
    slow: float = 3.0
    slow_share: float = 0.004
    rolled_back: float = 0.1


@dataclass(frozen=True)
class Findings:
    """What was committed, what the detector told, and what a naive poller saw of it."""

    written: set[str]
    told: Mapping[str, int]
    naive: set[str]
    late: int
    dead: int

    @property
    def lost(self) -> int:
        """Rows that were committed and not told."""
        return len(self.written - set(self.told))

    @property
    def repeated(self) -> int:
        """Rows that were told twice, or never committed."""
        return sum(self.told.values()) - len(set(self.told) & self.written)

    @property
    def naively_lost(self) -> int:
        """Rows that ``id > checkpoint`` has lost in the same seconds."""
        return len(self.written - self.naive)


@dataclass
class Naive:
    """Polls ``id > checkpoint``, as one would."""

    checkpoint: int = 0
    seen: set[str] = field(default_factory=set)

    async def poll(self, log: LogScene) -> None:
        """Read what is new."""
        async with log.engine.connect() as connection:
            rows = await connection.execute(
                text("SELECT log_id, log_message FROM wt_log WHERE log_id > :id ORDER BY log_id"),
                {"id": self.checkpoint},
            )
            for number, message in rows:
                self.checkpoint = number
                self.seen.add(message)


async def write(log: LogScene, name: int, load: Load, until: float, written: set[str]) -> None:
    """Log, slowly now and then, and change one's mind now and then."""
    dice = random.Random(name)
    clock = asyncio.get_running_loop().time
    async with log.engine.connect() as connection:
        number = 0
        while clock() < until:
            number += 1
            message = f"Login: {name}/{number}"
            await log.insert(connection, message)
            await asyncio.sleep(load.slow if dice.random() < load.slow_share else PAUSE)
            if dice.random() < load.rolled_back:
                await connection.rollback()
            else:
                await connection.commit()
                written.add(message)


async def stress(log: LogScene, load: Load) -> Findings:
    """Let them write, with both pollers beside them; then read until nothing is waited for."""
    log.listened = {LOGIN}
    await log.log("Login: old")
    await log.detect()
    naive, written = Naive(checkpoint=1), set[str]()
    clock = asyncio.get_running_loop().time
    until = clock() + load.seconds
    writers = [
        asyncio.create_task(write(log, name, load, until, written)) for name in range(load.writers)
    ]
    while clock() < until:
        await naive.poll(log)
        await log.detect()
    await asyncio.gather(*writers)
    await naive.poll(log)
    while sum((await log.detect()).emitted.values()) or await log.open_ids():
        pass
    (source,) = await log.sources()
    told = Counter(await log.messages())
    return Findings(written, told, naive.seen, source.late_rows, source.dead_ids)
