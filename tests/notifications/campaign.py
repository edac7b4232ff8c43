"""Kills dispatchers at random while they send: ``python -m tests.notifications.campaign``.

ROWS, KILLS, AT_ONCE and SEED from the environment. Half of the messages are mails to a real server,
half are webhooks; both note under which id each arrived. Exit status 1 if one is lost, or if more
were repeated than were in flight.
"""

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from functools import partial

from leitstand.notifications import Draft, Outbox
from leitstand.store.database import Database
from tests.campaign_server import campaign_server
from tests.execution.http_server import WebServer, web_server
from tests.jobs.scene import eventually
from tests.notifications.mail_server import MailServer, mail_server

PATIENCE = 3600.0


@dataclass(frozen=True)
class Toll:
    """What came of it: messages that never arrived, arrived again, and again without a doubt."""

    rows: int
    kills: int
    lost: int
    repeated: int
    unflagged: int
    doubtful: int
    seconds: float

    def is_fair(self, at_once: int) -> bool:
        """Nothing lost, at most what was in flight repeated, and each repetition flagged."""
        return not self.lost and not self.unflagged and self.repeated <= self.kills * at_once


@dataclass(frozen=True)
class Receivers:
    """What took the messages."""

    mails: MailServer
    hooks: WebServer

    def count(self) -> int:
        """How many messages have arrived, repetitions included."""
        return len(self.mails.raw) + len(self.hooks.asked)

    def delivered(self) -> Counter[str]:
        """How often each message arrived, by its id as the receiver sees it."""
        parser = BytesHeaderParser()
        ids = [str(parser.parsebytes(raw)["Message-ID"]) for raw in self.mails.raw]
        mailed = (each.strip("<>").partition("@")[0] for each in ids)
        hooked = (asked.headers["webhook-id"].removeprefix("msg_") for asked in self.hooks.asked)
        return Counter([*mailed, *hooked])


async def campaign(
    database: Database, rows: int, kills: int, at_once: int, chance: random.Random
) -> Toll:
    """Send ``rows`` by two dispatchers, of which one is killed and replaced ``kills`` times."""
    began, outbox = time.monotonic(), Outbox(database, 50)
    async with mail_server() as mails, web_server() as hooks:
        url, receivers = hooks.says("/hook"), Receivers(mails, hooks)
        drafts = [_draft(number, url) for number in range(rows)]
        async with database.transaction(deadline=60) as connection:
            await outbox.enqueue_in(connection, drafts)
        arguments = (database.conninfo, str(mails.port), str(at_once))
        async with worker(*arguments):
            for kill in range(kills):
                async with worker(*arguments):
                    goal = (kill + 1) * rows // (kills + 2) + chance.randrange(1 + rows // 100)
                    await eventually(partial(_arrived, receivers, goal), patience=PATIENCE)
            await eventually(partial(_all_sent, outbox), patience=PATIENCE)
        delivered = receivers.delivered()
    wanted = {str(draft.message_id) for draft in drafts}
    assert set(delivered) <= wanted
    found = await outbox.list_all(limit=rows)
    doubtful = {str(each.message_id) for each in found if each.in_doubt}
    again = {message for message, times in delivered.items() if times > 1}
    return Toll(
        rows=rows,
        kills=kills,
        lost=len(wanted - set(delivered)),
        repeated=sum(delivered.values()) - len(delivered),
        unflagged=len(again - doubtful),
        doubtful=len(doubtful),
        seconds=time.monotonic() - began,
    )


def _draft(number: int, url: str) -> Draft:
    if number % 2:
        return Draft("webhook", url, {"n": number})
    return Draft("email", f"ops{number}@example.org", {"message": str(number)})


@asynccontextmanager
async def worker(*arguments: str) -> AsyncIterator[None]:
    """A dispatcher's process, killed at the end in the middle of whatever it does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.notifications.worker", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.kill()
        await process.wait()


async def _arrived(receivers: Receivers, goal: int) -> bool | None:
    return receivers.count() >= goal or None


async def _all_sent(outbox: Outbox) -> bool | None:
    backlog = await outbox.backlog()
    return backlog.pending + backlog.sending == 0 or None


async def main() -> int:
    """Run it on a server of its own, which is gone afterwards, and print the toll."""
    given = {"ROWS": "10000", "KILLS": "40", "AT_ONCE": "4", "SEED": "1", **os.environ}
    rows, kills, at_once, seed = (int(given[n]) for n in ("ROWS", "KILLS", "AT_ONCE", "SEED"))
    with campaign_server() as (_, conninfo):
        async with Database(conninfo) as database:
            toll = await campaign(database, rows, kills, at_once, random.Random(seed))
    print(toll)
    return 0 if toll.is_fair(at_once) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
