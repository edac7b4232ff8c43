"""How fast a message reaches everybody: 200 clients on two servers, 5 of which read nothing.

The clients run in a process of their own, on the same machine; a message carries the time at which
it was handed over.
"""

import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from bench.server import BenchServer
from leitstand.live import DOWNTIMES, Broadcast, MessageLedger
from leitstand.store.database import Database
from leitstand.store.schema import upgrade
from tests.live.scene import live_server

CLIENTS = 200
STALLED = 5
MESSAGES = 1000
PER_SECOND = 50
PAYLOAD = "x" * 8000
"""Characters of a message; enough that those who read nothing fall behind."""


@dataclass(frozen=True)
class Heard:
    """What the clients have to say."""

    latencies: list[float]
    complete: bool
    """Whether each has heard every message in order."""


def listen(addresses: list[str], token: str, control: Connection) -> None:
    """The process of the clients."""
    control.send(asyncio.run(_listen(addresses, token, control)))


async def _listen(addresses: list[str], token: str, control: Connection) -> Heard:
    headers = {"Authorization": f"Bearer {token}"}
    async with AsyncExitStack() as stack:
        clients = []
        for number in range(CLIENTS):
            stalls = number < STALLED
            client = await stack.enter_async_context(
                connect(
                    addresses[number % len(addresses)],
                    additional_headers=headers,
                    compression=None,
                    max_queue=1 if stalls else None,
                    close_timeout=0.1,
                )
            )
            await client.send(json.dumps({"subscribe": [DOWNTIMES], "acknowledge": True}))
            if not stalls:
                await client.recv()
                clients.append(client)
        control.send("ready")
        heard = await asyncio.gather(*(_hear(client) for client in clients))
    latencies = [latency for each, _ in heard for latency in each]
    return Heard(latencies, all(in_order for _, in_order in heard))


async def _hear(client: ClientConnection) -> tuple[list[float], bool]:
    latencies, numbers = [], []
    async with asyncio.timeout(300):
        for _ in range(MESSAGES):
            data = json.loads(await client.recv())["data"]
            latencies.append(time.time() - data["at"])
            numbers.append(data["n"])
    return latencies, numbers == list(range(MESSAGES))


async def measure(conninfo: str) -> tuple[Heard, float]:
    """Publish to all of them; what they heard, and by how many MiB this process grew."""
    with tempfile.TemporaryDirectory() as spool:
        async with (
            live_server(conninfo, Path(spool)) as one,
            live_server(conninfo, Path(spool), one.token) as two,
            Database(conninfo) as database,
        ):
            ours, theirs = multiprocessing.get_context("spawn").Pipe()
            process = multiprocessing.get_context("spawn").Process(
                target=listen, args=([one.address, two.address], one.token, theirs)
            )
            process.start()
            assert await asyncio.to_thread(ours.recv) == "ready"
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            await _publish(Broadcast(database, MessageLedger(database)))
            heard: Heard = await asyncio.to_thread(ours.recv)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            await asyncio.to_thread(process.join)
    return heard, grown


async def _publish(broadcast: Broadcast) -> None:
    began = time.perf_counter()
    for number in range(MESSAGES):
        await broadcast.publish(DOWNTIMES, {"n": number, "at": time.time(), "text": PAYLOAD})
        due = began + (number + 1) / PER_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


def report(server: BenchServer) -> None:
    """Measure and print."""
    conninfo = server.create_database("live")
    upgrade(conninfo)
    heard, grown = asyncio.run(measure(conninfo))
    latencies = sorted(heard.latencies)
    shown = [1000 * latencies[len(latencies) * part // 100] for part in (50, 95, 99)]
    print(
        f"live stream ({MESSAGES} messages of 8 kB, {PER_SECOND} a second, {CLIENTS} clients on "
        f"two servers, {STALLED} read nothing):"
    )
    print(
        "  from publishing to the client: "
        + ", ".join(
            f"{name} {value:.0f} ms"
            for name, value in zip(("median", "p95", "p99"), shown, strict=True)
        )
    )
    print(f"  every message, in order: {'yes' if heard.complete else 'NO'}")
    print(f"  memory of both servers grew by {grown:.0f} MiB")
