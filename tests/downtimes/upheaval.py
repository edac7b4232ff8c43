"""Messages through RabbitMQ while the consumer is killed and MariaDB restarts: are the rows right?

``python -m tests.downtimes.upheaval [DOWNTIMES]`` on servers of its own; 12,000 downtimes, of about
50,000 messages, without an argument. The suite plays a small one.
"""

import asyncio
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import aio_pika

from leitstand.downtimes import (
    Applier,
    DeadLetters,
    Happened,
    Herald,
    Intake,
    Listeners,
    open_target,
)
from leitstand.downtimes.hand_in import ingest
from leitstand.store.database import Database
from tests.campaign_server import campaign_server
from tests.conftest import temporary_short_dir
from tests.downtimes.conftest import rows
from tests.downtimes.consumer_process import ConsumerProcess
from tests.downtimes.core import RabbitSide, body, play, poison
from tests.downtimes.queue_servers import RabbitMq
from tests.mariadb_server import MariaDb, mariadb_server

PATIENCE = 120.0
TABLES = [
    f"statusengine_{kind}_{table}"
    for kind in ("host", "service")
    for table in ("scheduleddowntimes", "downtimehistory")
]


@dataclass(frozen=True)
class Upheaval:
    """What was played, and what came of it beside the same without any disturbance."""

    messages: int
    kills: int
    seconds: float
    same_rows: bool
    same_events: bool
    planned_bad: int
    dead_letters: int
    left_in_queue: int

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, doubled or left."""
        same = self.same_rows and self.same_events
        return same and self.dead_letters == self.planned_bad and self.left_in_queue == 0


async def upheaval(
    mariadb: MariaDb, conninfo: str, core: RabbitSide, downtimes: int, seed: int, share: float
) -> Upheaval:
    """Play; kill the consumer whenever it took about ``share`` of them; MariaDB restarts twice."""
    chance = random.Random(seed)
    good = [body(one) for one in play(chance, downtimes)]
    bad = list(_distinct(chance, max(3, downtimes // 100)))
    mixed = _mixed(chance, good, bad)
    expected, told = await _undisturbed(mariadb.create_database("calm"), conninfo, good)
    url = mariadb.create_database("storm")
    async with open_target(url) as target:
        await target.create_tables()
    await core.publish(mixed)
    begun = time.monotonic()
    consumer = ConsumerProcess(core, database_url=url, conninfo=conninfo)
    try:
        kills = await _disturb(consumer, mariadb, core, len(mixed), chance, share)
        for _ in range(10):
            found = await _settled(url, expected)
            consumer.kill()
            # What a dead consumer had in its hands is in the queue again.
            left = await _unfinished(core)
            events = await _events(conninfo)
            if (left == 0 and events == told) or found != expected:
                break
            consumer.restart()
            await _down_to(core, 0)
            await asyncio.sleep(1.0)  # for what it holds: the broker does not say
    finally:
        consumer.kill()
    async with Database(conninfo) as database:
        letters = await DeadLetters(database).count()
    seconds = time.monotonic() - begun
    same = found == expected, events == told
    return Upheaval(len(mixed), kills, seconds, *same, len(bad), letters, left)


async def _disturb(
    consumer: ConsumerProcess,
    mariadb: MariaDb,
    core: RabbitSide,
    messages: int,
    chance: random.Random,
    share: float,
) -> int:
    """Kill the consumer and restart MariaDB until little is left; the number of kills."""
    kills, left = 0, messages
    restarts = [0.8, 0.4]  # shares of the messages that are left then
    while left or restarts or kills < 3:
        left = await _down_to(core, left - chance.randint(1, int(2 * share * messages)))
        if restarts and left < messages * restarts[0]:
            restarts.pop(0)
            with mariadb.away():
                kills += 1
                consumer.restart()
        consumer.restart()
        kills += 1
    return kills


async def _settled(url: str, expected: list[Any]) -> list[Any]:
    """The rows, once they are as expected, or after some patience."""
    until = time.monotonic() + PATIENCE
    async with open_target(url) as target:
        while True:
            found = [await rows(target, table) for table in TABLES]
            if found == expected or time.monotonic() > until:
                return found
            await asyncio.sleep(0.2)


def _distinct(chance: random.Random, count: int) -> Iterator[bytes]:
    """So many different bad messages."""
    seen: set[bytes] = set()
    for maker in poison(chance):
        one = maker()
        if one not in seen:
            seen.add(one)
            yield one
        if len(seen) == count:
            return


def _mixed(chance: random.Random, good: list[bytes], bad: list[bytes]) -> list[bytes]:
    mixed = list(good)
    for one in bad:
        mixed.insert(chance.randrange(len(mixed)), one)
    return mixed


class Told:
    """Takes events and remembers which."""

    def __init__(self) -> None:
        self.identities: list[str] = []

    async def announce(self, happenings: Sequence[Happened]) -> None:
        """Remember them."""
        self.identities += [one.identity for one in happenings]


async def _undisturbed(
    url: str, conninfo: str, messages: list[bytes]
) -> tuple[list[Any], list[str]]:
    """The rows that the good messages leave, in order and alone, and the events."""
    told = Told()
    async with open_target(url) as target, Database(conninfo) as database:
        await target.create_tables()
        applier = Applier(target, "core1", leaves_news=True)
        listeners = Listeners(herald=Herald(target, told))
        await ingest(messages, Intake(applier, DeadLetters(database), "calm", listeners))
        return [await rows(target, table) for table in TABLES], told.identities


async def _events(conninfo: str) -> list[str]:
    """The events that were raised, in order."""
    async with Database(conninfo) as database, database.connection() as connection:
        found = await connection.execute("SELECT message_id FROM events ORDER BY id")
        return [row["message_id"] for row in await found.fetchall()]


async def _unfinished(core: RabbitSide) -> int:
    """Messages that are ready in the queue; those in somebody's hands are not."""
    async with await aio_pika.connect(core.url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(core.queue, passive=True)
        return queue.declaration_result.message_count or 0


async def _down_to(core: RabbitSide, wanted: int) -> int:
    """Wait until the consumer has so many left to take; how many they are then."""
    async with asyncio.timeout(PATIENCE):
        while (left := await _unfinished(core)) > max(wanted, 0):
            await asyncio.sleep(0.05)
    return left


async def on_own_servers(downtimes: int, seed: int) -> Upheaval:
    """The long one."""
    with (
        campaign_server() as (_, conninfo),
        mariadb_server(on_disk=True) as mariadb,
        temporary_short_dir(on_disk=True) as directory,
    ):
        rabbitmq = RabbitMq(directory / "mq")
        try:
            core = rabbitmq.fresh()
            return await upheaval(mariadb, conninfo, core, downtimes, seed, share=0.03)
        finally:
            rabbitmq.stop()


def main() -> int:
    """Run the long one."""
    downtimes = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
    seed = random.randrange(10**6)
    found = asyncio.run(on_own_servers(downtimes, seed))
    print(f"seed {seed}: {found}")
    return 0 if found.clean else 1


if __name__ == "__main__":
    sys.exit(main())
