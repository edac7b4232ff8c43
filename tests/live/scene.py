"""Servers that relay, and clients over real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from leitstand.access import Role
from leitstand.live import Broadcast, MessageLedger, Relay
from leitstand.store.database import Database
from leitstand.web import bind, serving
from tests.web.scene import Web, web_on

PATIENCE = 20.0
TOPIC = "statusngin_downtimes"


@dataclass(frozen=True)
class LiveServer:
    """A server of its own pool, hub and relay."""

    web: Web
    address: str
    token: str

    def connection(self) -> connect:
        """A client that has not said anything yet."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return connect(self.address, additional_headers=headers, max_queue=None)

    @asynccontextmanager
    async def client(self, **asked: Any) -> AsyncIterator[ClientConnection]:
        """A client that has subscribed; ``asked`` are the fields of what it sends."""
        async with self.connection() as client:
            await client.send(json.dumps({"subscribe": [TOPIC], "acknowledge": True, **asked}))
            answer = await heard(client)
            assert answer["topic"] == "subscribed"
            yield client


@asynccontextmanager
async def live_server(
    conninfo: str, directory: Path, token: str | None = None
) -> AsyncIterator[LiveServer]:
    """A server in this process that answers on a port."""
    async with Database(conninfo) as database:
        web = await web_on(database, directory, with_tokens=token is None)
        relay = Relay(conninfo, MessageLedger(database), web.app.state.hub)
        with bind("127.0.0.1", 0) as listener:
            port = listener.getsockname()[1]
            async with serving(web.app, listener):
                task = asyncio.create_task(relay.run())
                try:
                    secret = token or web.tokens[Role.VIEWER]
                    yield LiveServer(web, f"ws://127.0.0.1:{port}/ws", secret)
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)


def broadcast(database: Database) -> Broadcast:
    """The way to publish."""
    return Broadcast(database, MessageLedger(database))


async def heard(client: ClientConnection) -> Any:
    """The next message."""
    async with asyncio.timeout(PATIENCE):
        return json.loads(await client.recv())
