"""A web server that answers as the test says, byte by byte, and keeps what it was sent."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

CERTIFICATES = Path(__file__).parent / "certificates"
CERTIFICATE = CERTIFICATES / "localhost.pem"
"""Of 127.0.0.1 and localhost, signed by itself, good for a hundred years."""


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class WebServer:
    """Handlers by path; an unknown path is 404."""

    port: int = 0
    scheme: str = "http"
    handlers: dict[str, Handler] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str = "/", user: str = "") -> str:
        """Where a path is, with ``user:password@`` if given."""
        return f"{self.scheme}://{user}127.0.0.1:{self.port}{path}"

    def says(self, path: str, status: str = "200 OK", body: bytes = b"", **headers: str) -> str:
        """Have a path answer so; its URL."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

        async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)

        self.handlers[path] = answer
        return self.url(path)

    def does(self, path: str, handler: Handler) -> str:
        """Have a handler answer a path; its URL."""
        self.handlers[path] = handler
        return self.url(path)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        try:
            asked = await _read(reader)
            self.asked.append(asked)
            if handler := self.handlers.get(asked.target.partition("?")[0]):
                await handler(asked, writer)
            else:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has seen enough
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, target, headers, body)


@asynccontextmanager
async def web_server(*, tls: bool = False) -> AsyncIterator[WebServer]:
    """A server on a free port of the loopback interface, gone at the end with its connections."""
    server, connections = WebServer(scheme="https" if tls else "http"), set[asyncio.Task[None]]()
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, CERTIFICATES / "key.pem")

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(server.serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await listener.wait_closed()
