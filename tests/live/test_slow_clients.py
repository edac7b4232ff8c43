"""Clients that do not keep up: cut off with a code, at no cost to the others."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from leitstand.live import Hub, MessageLedger, Subscriber
from leitstand.live.hub import MOMENT, PORTION_CHARACTERS, portions
from leitstand.live.message import notice
from leitstand.live.subscriber import MOST_CHARACTERS, MOST_MESSAGES
from leitstand.store.database import Database
from leitstand.web.live_socket import TOO_SLOW
from tests.live.scene import PATIENCE, TOPIC, broadcast, live_server

STALLED = 5
READING = 20
BATCHES = 8
LARGE = "x" * 10_000
"""With 200 of them a batch, some 16 MB for each client: more than sockets and buffers hold."""


async def test_stalled_clients_cost_the_others_nothing(
    conninfo: str, database: Database, tmp_path: Path
) -> None:
    """5 of 25 clients on two servers read nothing; the rest get every message in order."""
    async with (
        live_server(conninfo, tmp_path) as one,
        live_server(conninfo, tmp_path, one.token) as two,
        asyncio.timeout(3 * PATIENCE),
    ):
        servers = [one, two]
        headers = {"Authorization": f"Bearer {one.token}"}
        stalled = [
            await connect(s.address, additional_headers=headers, max_queue=1, compression=None)
            for s in (servers * STALLED)[:STALLED]
        ]
        reading = [
            await connect(s.address, additional_headers=headers, max_queue=None, compression=None)
            for s in (servers * READING)[:READING]
        ]
        for client in (*stalled, *reading):
            await client.send(json.dumps({"subscribe": [TOPIC], "acknowledge": True}))
        for client in reading:
            await client.recv()
        listening = [asyncio.create_task(numbers(client)) for client in reading]
        for batch in range(BATCHES):
            data = [{"n": 200 * batch + n, "text": LARGE} for n in range(200)]
            await broadcast(database).publish_all(TOPIC, data)
        for heard in await asyncio.gather(*listening):
            assert heard == list(range(200 * BATCHES))
        for client in stalled:
            assert await drained(client) < 200 * BATCHES
            assert client.close_code in (TOO_SLOW, 1006), "cut off, if it took too long to notice"
        for server in servers:
            await server.web.app.state.hub.join(Subscriber(()))
            assert server.web.app.state.hub.topics <= {TOPIC}
        for client in reading:
            await client.close()


async def numbers(client: Any) -> list[int]:
    return [json.loads(await client.recv())["data"]["n"] for _ in range(200 * BATCHES)]


async def drained(client: Any) -> int:
    """How many messages a client still got before its end."""
    count = 0
    try:
        while True:
            await client.recv()
            count += 1
    except ConnectionClosed:
        return count


async def test_a_client_that_makes_no_room_is_cut_off(database: Database) -> None:
    hub = Hub(MessageLedger(database))
    stalled, other = Subscriber([TOPIC]), Subscriber(["other"])
    await hub.join(stalled)
    await hub.join(other)
    await hub.deliver([notice(number, TOPIC, None) for number in range(1, MOST_MESSAGES + 1)])
    assert json.loads(await stalled.take())["id"] == 1
    await hub.deliver([notice(MOST_MESSAGES + 1, TOPIC, None)])
    assert not stalled.full
    began = time.monotonic()
    await hub.deliver([notice(MOST_MESSAGES + 2, TOPIC, None)])
    await stalled.was_cut_off()
    assert time.monotonic() - began >= MOMENT
    await hub.deliver([notice(MOST_MESSAGES + 3, TOPIC, None)])
    assert not stalled.full, "nothing more is kept for it"


async def test_a_client_that_reads_is_waited_for_in_a_burst(database: Database) -> None:
    """What comes at once may be far more than what may wait."""
    hub = Hub(MessageLedger(database))
    reading = Subscriber([TOPIC])
    await hub.join(reading)
    count = 4 * MOST_CHARACTERS // len(LARGE)
    burst = [notice(number, TOPIC, LARGE) for number in range(1, count + 1)]
    delivering = asyncio.create_task(hub.deliver(burst))
    async with asyncio.timeout(PATIENCE):
        for message in burst:
            assert json.loads(await reading.take())["id"] == message.id
        await delivering


def test_portions_are_small() -> None:
    small = [notice(number, TOPIC, None) for number in range(450)]
    assert [len(portion) for portion in portions(small)] == [200, 200, 50]
    large = [notice(1, TOPIC, "x" * PORTION_CHARACTERS)] * 2
    assert [len(portion) for portion in portions([*large, *small[:1]])] == [1, 1, 1]
    assert list(portions([])) == []
