"""A consumer in a process of its own, to be killed; its argument is a JSON object of settings.

These are those of the queue, ``database_url`` and ``conninfo``.
"""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from leitstand.app.downtime_events import DowntimeEvents
from leitstand.downtimes import (
    Applier,
    Consumer,
    DeadLetters,
    Herald,
    Intake,
    Listeners,
    QueueSettings,
    make_source,
    open_target,
)
from leitstand.events import EventQueue
from leitstand.logs import configure_logs
from leitstand.store.database import Database
from tests.downtimes.core import RabbitSide


async def consume(settings: dict[str, Any]) -> None:
    """Consume until killed."""
    names = ("source", "queue", "exchange", "batch")
    queue = QueueSettings(**{name: settings[name] for name in names})
    source = make_source(queue, settings["conninfo"])
    async with (
        open_target(settings["database_url"]) as target,
        Database(settings["conninfo"]) as database,
    ):
        herald = Herald(target, DowntimeEvents(database, EventQueue(database)))
        applier = Applier(target, "core1", leaves_news=True)
        listeners = Listeners(herald=herald)
        intake = Intake(applier, DeadLetters(database), "queue", listeners)
        await asyncio.gather(Consumer(source, intake, queue.batch).run(), herald.run())


class ConsumerProcess:
    """Starts it, kills it with -9, starts it again."""

    def __init__(self, core: RabbitSide, **settings: Any) -> None:
        names = {"source": core.url, "queue": core.queue, "exchange": core.exchange, "batch": 100}
        self._settings = {**names, **settings}
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.downtimes.consumer_process"]
        return subprocess.Popen(
            [*command, json.dumps(self._settings)],
            env={**os.environ, "PYTHONWARNINGS": "error"},
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait(30)

    def restart(self) -> None:
        """kill -9, and begin anew."""
        self.kill()
        self._process = self._start()


if __name__ == "__main__":
    configure_logs("warning")
    asyncio.run(consume(json.loads(sys.argv[1])))
