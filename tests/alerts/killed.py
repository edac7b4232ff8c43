"""A process that evaluates a rule and kills itself after a given number of statements."""

import asyncio
import sys
from datetime import datetime

from leitstand.store.database import Database
from tests.alerts.scene import Scene, one
from tests.forking import die_after, serve


def work(request: str) -> str:
    """``NOW VALUE N``: look at one series of that value, and die right after statement N."""
    now, value, number = request.split()
    die_after(int(number))
    asyncio.run(_look(datetime.fromisoformat(now), float(value)))
    return "done"


async def _look(now: datetime, value: float) -> None:
    async with Database(sys.argv[1], pool_size=1) as database:
        scene = Scene(database, now, listened={"alert.firing", "alert.resolved:disk"})
        await scene.look(one(value, host="a"))


if __name__ == "__main__":
    serve(work)
