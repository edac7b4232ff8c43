"""Plays a monitoring core: the messages that cores really send, for tests and demonstrations.

``python -m tests.downtimes.core SOURCE [COUNT]`` plays COUNT downtimes (1000) into a queue at once:
SOURCE is ``amqp://…`` or ``gearman://…`` as in ``downtimes.source``.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aio_pika

from leitstand.downtimes.downtime import EventType
from leitstand.downtimes.gearman import HEADER, PacketType, packet

QUEUE = "statusngin_downtimes"
ADD, DELETE, LOAD, START, STOP = (
    EventType.ADD,
    EventType.DELETE,
    EventType.LOAD,
    EventType.START,
    EventType.STOP,
)
NORMAL, CANCELLED = 1, 2
T = 1_700_000_000
"""When the downtimes of tests start."""


def message(kind: int, at: int, *, usec: int = 0, attr: int = 0, **downtime: Any) -> dict[str, Any]:
    """A message; ``downtime`` replaces fields of a host's fixed downtime from T to T + 7200."""
    return {
        "type": int(kind),
        "flags": 0,
        "attr": attr,
        "timestamp": at,
        "timestamp_usec": usec,
        "downtime": {
            "host_name": "web01",
            "service_description": None,
            "author_name": "nagiosadmin",
            "comment_data": "Patch day",
            "downtime_type": 2,
            "entry_time": T - 10,
            "start_time": T,
            "end_time": T + 7200,
            "triggered_by": 0,
            "downtime_id": 42,
            "fixed": 1,
            "duration": 7200,
            **downtime,
        },
    }


def body(document: Mapping[str, Any]) -> bytes:
    """A message as it is on the wire."""
    return json.dumps(document).encode()


SERVICE: dict[str, Any] = {"downtime_type": 1, "service_description": "HTTP"}
FLEXIBLE: dict[str, Any] = {"fixed": 0, "duration": 600}

Step = tuple[EventType, int, int]
"""An event, seconds after the downtime's start, and ``attr``."""


def _steps(text: str) -> list[Step]:
    """A life in short: ``STOP@7200/1`` is a STOP 7200 s after the start with attr 1."""
    steps = []
    for word in text.split():
        name, _, when = word.partition("@")
        after, _, attr = when.partition("/")
        steps.append((EventType[name], int(after), int(attr or 0)))
    return steps


LIVES: Mapping[str, list[Step]] = {
    "runs to its end": _steps("LOAD@-10 ADD@-10 START@0 STOP@7200/1 DELETE@7200"),
    "cancelled": _steps("LOAD@-10 ADD@-10 START@0 STOP@50/2 DELETE@50"),
    "deleted before its start": _steps("LOAD@-10 ADD@-10 DELETE@-5"),
    "naemon restarts": _steps("ADD@-10 LOAD@-2 START@0 LOAD@60 STOP@7200/1 DELETE@7200"),
    "nagios restarts": _steps("ADD@-10 START@0 LOAD@60 START@61 STOP@7200/1 DELETE@7200"),
    "ended while the core was down": _steps("ADD@-10 START@0 LOAD@9000 STOP@9000/1 DELETE@9000"),
    "object removed": _steps("ADD@-10 START@0 STOP@70/2"),
    "all in one second": _steps("ADD@0 START@0 STOP@0/2 DELETE@0"),
}
FLEXIBLE_LIVES: Mapping[str, list[Step]] = {
    "flexible, never triggered": _steps("LOAD@-10 ADD@-10 DELETE@7201"),
    "flexible, triggered late": _steps("ADD@-10 START@7000 STOP@7600/1 DELETE@7600"),
}


def life(name: str, start: int, usec: int = 0, **downtime: Any) -> list[dict[str, Any]]:
    """The messages of a life by its name; each a microsecond after the one before if ``usec``."""
    flexible = name in FLEXIBLE_LIVES
    fields = {
        **(FLEXIBLE if flexible else {}),
        "entry_time": start - 10,
        "start_time": start,
        "end_time": start + 7200,
        **downtime,
    }
    steps = FLEXIBLE_LIVES[name] if flexible else LIVES[name]
    return [
        message(kind, start + after, usec=usec and usec + n, attr=attr, **fields)
        for n, (kind, after, attr) in enumerate(steps)
    ]


def play(chance: random.Random, count: int, hosts: int = 40) -> list[dict[str, Any]]:
    """``count`` downtimes on ``hosts`` hosts and their services, interleaved as time goes on.

    A third of them are triggered by the one before; comments hold what people write.
    """
    names = [*LIVES, *FLEXIBLE_LIVES]
    messages: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        on_service = chance.random() < 0.6
        fields: dict[str, Any] = {
            "host_name": f"host{chance.randrange(hosts):03}",
            "downtime_id": number,
            "triggered_by": number - 1 if chance.random() < 0.3 else 0,
            "comment_data": chance.choice(["Patch day", "Gerät tauschen", "🔧 disk", "", None]),
        }
        if on_service:
            service = f"service {chance.randrange(8)}"
            fields |= {"downtime_type": 1, "service_description": service}
        start = T + chance.randrange(20 * count)
        usec = chance.choice([0, chance.randrange(1, 900_000)])
        messages += life(chance.choice(names), start, usec, **fields)
    # A stable sort: what shares a second stays in the order of its life.
    return sorted(messages, key=lambda one: one["timestamp"])


@dataclass(frozen=True)
class RabbitSide:
    """The broker module's side of RabbitMQ."""

    url: str
    queue: str = QUEUE
    exchange: str = "statusengine"
    durable: bool = False

    async def publish(self, bodies: Iterable[bytes]) -> None:
        """Declare as the module does, and publish in order."""
        async with await aio_pika.connect(self.url) as connection:
            channel = await connection.channel(publisher_confirms=False)
            exchange = await channel.declare_exchange(
                self.exchange, aio_pika.ExchangeType.DIRECT, durable=self.durable
            )
            queue = await channel.declare_queue(self.queue, durable=self.durable)
            await queue.bind(exchange, self.queue)
            for one in bodies:
                await exchange.publish(aio_pika.Message(one), self.queue)
            await channel.declare_queue(self.queue, passive=True)  # all are there when it answers


@dataclass(frozen=True)
class GearmanSide:
    """The broker module's side of Gearman: background jobs."""

    host: str
    port: int
    queue: str = QUEUE

    async def publish(self, bodies: Iterable[bytes]) -> None:
        """Submit in order; each has been accepted when this returns."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        for one in bodies:
            writer.write(packet(PacketType.SUBMIT_JOB_BG, self.queue.encode(), b"", one))
            _, kind, length = HEADER.unpack(await reader.readexactly(HEADER.size))
            assert kind == PacketType.JOB_CREATED
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()


def side(source: str) -> RabbitSide | GearmanSide:
    """The other side of what ``downtimes.source`` names."""
    url = urlsplit(source)
    if url.scheme == "gearman":
        return GearmanSide(url.hostname or "localhost", url.port or 4730)
    return RabbitSide(source)


def poison(chance: random.Random) -> Iterator[Callable[[], bytes]]:
    """Endless ways in which a message can be bad."""
    good = body(message(START, T))
    makers: list[Callable[[], bytes]] = [
        lambda: good[: chance.randrange(1, len(good) - 1)],
        lambda: good.replace(b"1103", str(chance.randrange(1105, 9999)).encode()),
        lambda: b'{"messages": ' + b"[" * chance.randrange(10_000, 20_000),
        lambda: good.replace(b'_type": 2', b'_type": %d' % chance.randrange(3, 10**6)),
        lambda: good.replace(b"7200}", b"%d}" % chance.randrange(2**32, 2**64)),
        lambda: good.replace(b"web01", b"web\\u0000%d" % chance.randrange(10**9)),
    ]
    while True:
        yield chance.choice(makers)


def main() -> None:
    """Play into a queue."""
    source, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    now = int(time.time())
    messages = play(random.Random(), count)
    for one in messages:  # as if the last of it happened now
        shift = now - messages[-1]["timestamp"]
        _shift(one, shift)
    asyncio.run(side(source).publish(body(one) for one in messages))
    print(f"{len(messages)} messages of {count} downtimes are in the queue.")


def _shift(one: dict[str, Any], seconds: int) -> None:
    one["timestamp"] += seconds
    for name in ("entry_time", "start_time", "end_time"):
        one["downtime"][name] += seconds


if __name__ == "__main__":
    main()
