"""Modules that show metrics, well or with ill will: raw answers over sockets."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""What a target does once it was asked."""


def answer(
    body: bytes, *headers: str, status: str = "200 OK", length: int | None = None
) -> Behaviour:
    """Answers with this body."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {length or len(body)}", *headers, "", ""]

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()

    return behave


def zipped(body: bytes, cut: int = 0) -> Behaviour:
    """Answers with gzip, less the last ``cut`` bytes."""
    packed = gzip.compress(body)
    return answer(packed[: len(packed) - cut], "Content-Encoding: gzip")


def bomb(size: int) -> Behaviour:
    """Answers with little that inflates to ``size`` bytes."""
    return zipped(b"a_metric 1\n" * (size // 11))


def in_pieces(body: bytes) -> Behaviour:
    """Answers with the status line first, and then with all the rest at once."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        await asyncio.sleep(0.1)  # what a slow target does, not a wait of the test
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    return behave


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-A: b\r\n" * 10_000)
        await writer.drain()


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def drip_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await _drip(writer, b"X-A: b\r\n")


async def drip_body(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
    await _drip(writer, b"a 1\n")


async def _drip(writer: asyncio.StreamWriter, piece: bytes) -> None:
    for byte in piece * 100:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.1)  # what a slow target does, not a wait of the test


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"a_metric 1\n" * 10_000)
        await writer.drain()


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(bytes(range(256)) * 10)
    await writer.drain()


@asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncIterator[str]:
    """The URL of a target; it closes each connection after its answer."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            await behaviour(writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/metrics"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
