"""A dispatcher in a process of its own, to be killed: ``worker.py CONNINFO FILE``.

Each delivery is a line in the file: the message id, written as one piece before it is recorded.
"""

import asyncio
import os
import sys

from leitstand.notifications import Claimed, Dispatcher, Outbox, RetryPolicy, SendingLimits
from leitstand.store.database import Database


async def main(conninfo: str, file: str) -> None:
    """Send until killed."""
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def deliver(claimed: Claimed) -> None:
        os.write(out, f"{claimed.notification.message_id}\n".encode())

    async with Database(conninfo) as database:
        limits = SendingLimits(deadline=0.5, concurrency=1, margin=0.5)
        dispatcher = Dispatcher(Outbox(database, 50), deliver, RetryPolicy(), limits)
        print("ready", flush=True)
        await dispatcher.run(conninfo)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
