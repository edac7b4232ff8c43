"""A proxy as companies have them: forwards plain requests, and tunnels with CONNECT."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.execution.http_server import CERTIFICATE, CERTIFICATES


@dataclass
class HttpProxy:
    """Keeps the first line of each request that passed through."""

    port: int = 0
    seen: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client; it ends with the first request's."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            first, _, rest = head.partition(b"\r\n")
            method, target, version = first.decode().split(" ")
            self.seen.append(f"{method} {target}")
            if method == "CONNECT":
                host, _, port = target.rpartition(":")
                theirs = await asyncio.open_connection(host, int(port))
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                url = urlsplit(target)
                theirs = await asyncio.open_connection(url.hostname, url.port)
                line = f"{method} {url.path} {version}\r\nConnection: close\r\n"
                theirs[1].write(line.encode() + rest)
            await asyncio.gather(pump(reader, theirs[1]), pump(theirs[0], writer))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until there are no more; cancelled, the connection is closed, too."""
    try:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Serve connections on a free port of the loopback interface; all end with the block."""
    tasks = set[asyncio.Task[None]]()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(lambda _: writer.close())

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def http_proxy() -> AsyncIterator[HttpProxy]:
    """A proxy on a free port."""
    proxy = HttpProxy()
    async with listening(proxy.serve) as proxy.port:
        yield proxy


@asynccontextmanager
async def tls_front(port: int) -> AsyncIterator[int]:
    """What stands before the web server of a control server: TLS, with a certificate of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATES / "key.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, theirs[1]), pump(theirs[0], writer))

    async with listening(serve, context) as front:
        yield front
