"""Detection that is killed with SIGKILL at any moment, again and again."""

import asyncio
import os
import random
import signal
import sys
from dataclasses import dataclass

from tests.events.log_scene import LOGIN, LogScene

PROGRAM = """
import asyncio, sys
from leitstand.events.detection import Detection, webtrees
from leitstand.events.detection import reader, scan  # as early as possible: they take a while
from leitstand.store.database import Database

async def listened():
    return {"cronjob:log-auth-login"}

async def main():
    async with Database(sys.argv[1]) as database:
        detection = Detection(database, [webtrees("webtrees", sys.argv[2], "wt_", None)], listened)
        print("ready", flush=True)
        sys.stdin.readline()
        while True:
            await detection.run_once(again=True)

asyncio.run(main())
"""

WITHIN = 0.15
"""Seconds after the start of a run in which it is killed: one run, and a part of a second."""


@dataclass(frozen=True)
class Aftermath:
    """What was told of the backlog, in order; the most events of one run; kills amid a backlog."""

    told: list[str]
    largest_run: int
    kills: int
    runs: int


async def kill_amid_backlog(log: LogScene, conninfo: str, rows: int, kills: int) -> Aftermath:
    """Work off a backlog of ``rows`` by processes that are killed, the rest by one that is not."""
    log.listened = {LOGIN}
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(rows)])
    dice, done = random.Random(1), 0
    while done < kills and (await log.sources())[0].detectors[0].emitted < rows:
        await _killed(conninfo, log.table.url, dice.uniform(0, WITHIN))
        done += 1
    while (report := await log.detect()).did != "was read" or any(report.emitted.values()):
        pass
    largest, runs = await _runs(log)
    return Aftermath(list(await log.messages()), largest, done, runs)


async def _killed(conninfo: str, url: str, seconds: float) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, conninfo, url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    process.stdin.write(b"go\n")
    # Anywhere within its first run or its second: this is no waiting for something.
    await asyncio.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()


async def _runs(log: LogScene) -> tuple[int, int]:
    """The most events of one run, and how many runs there were: each is one transaction."""
    async with log.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT max(n) AS largest, count(*) AS runs"
            " FROM (SELECT count(*) AS n FROM events GROUP BY xmin::text) AS t"
        )
        row = await cursor.fetchone()
    assert row is not None
    return row["largest"], row["runs"]
