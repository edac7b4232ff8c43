"""Detection that is killed with SIGKILL at any moment: each row is told once, in order."""

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

from leitstand.events import EventQueue
from leitstand.store.database import Database
from tests.events.log_scene import LOGIN, log_scene

ROWS = 2_000
KILLS = 6

PROGRAM = """
import asyncio, sys
from leitstand.events.detection import Detection, webtrees
from leitstand.store.database import Database

async def listened():
    return {"cronjob:log-auth-login"}

async def main():
    async with Database(sys.argv[1]) as database:
        detection = Detection(database, [webtrees("webtrees", sys.argv[2], "wt_", None)], listened)
        print("ready", flush=True)
        while True:
            await detection.run_once(again=True)

asyncio.run(main())
"""


async def test_a_backlog_survives_kills(database: Database, conninfo: str, tmp_path: Path) -> None:
    """Cases 6 and 20."""
    url = f"sqlite:///{tmp_path / 'log.sqlite'}"
    log = await log_scene(database, url, url)
    log.listened = {LOGIN}
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(ROWS)])
    dice = random.Random(1)
    for _ in range(KILLS):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, conninfo, url), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        # Anywhere within the first two runs: any longer, and the backlog is gone.
        await asyncio.sleep(dice.uniform(0, 0.3))
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    while (report := await log.detect()).did != "was read" or any(report.emitted.values()):
        assert sum(report.emitted.values()) <= 200
    events = await EventQueue(database).list_events(LOGIN, limit=2 * ROWS)
    told = [event.payload["log_message"] for event in reversed(events)]
    assert told == [f"Login: {number}" for number in range(ROWS)]
