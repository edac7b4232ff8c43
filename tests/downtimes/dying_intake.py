"""Takes messages from standard input and is killed when they are announced: before, or after.

Its argument is a JSON object: ``database_url``, ``conninfo`` and the ``moment``.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence

from leitstand.app.downtime_events import DowntimeEvents
from leitstand.downtimes import (
    Applier,
    DeadLetters,
    Happened,
    Herald,
    Intake,
    Listeners,
    ingest,
    open_target,
)
from leitstand.events import EventQueue
from leitstand.store.database import Database


class LastWords:
    """An announcer whose process does not live to see what comes after."""

    def __init__(self, events: DowntimeEvents, moment: str) -> None:
        self._events = events
        self._moment = moment

    async def announce(self, happenings: Sequence[Happened]) -> None:
        """Store the events or not, and die."""
        if self._moment == "after":
            await self._events.announce(happenings)
        os.kill(os.getpid(), signal.SIGKILL)


async def take(database_url: str, conninfo: str, moment: str) -> None:
    """Take in what comes."""
    async with open_target(database_url) as target, Database(conninfo) as database:
        last_words = LastWords(DowntimeEvents(database, EventQueue(database)), moment)
        listeners = Listeners(herald=Herald(target, last_words))
        applier = Applier(target, "core1", leaves_news=True)
        intake = Intake(applier, DeadLetters(database), "dying", listeners)
        await ingest(sys.stdin.buffer, intake)


if __name__ == "__main__":
    asyncio.run(take(**json.loads(sys.argv[1])))
