"""The HTTP server among clients that send slowly, not at all, or too many at a time."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI

from leitstand.web.http_server import ListenError, bind, serving

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
REQUEST = b"GET /alive HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """Where a server answers ``GET /alive``."""
    app = FastAPI()

    @app.get("/alive")
    async def alive() -> str:
        return "yes"

    with bind("127.0.0.1", 0) as listener:
        async with serving(app, listener):
            yield listener.getsockname()[1]


@contextlib.asynccontextmanager
async def client(port: int, sent: bytes = b"") -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def answered(reader: asyncio.StreamReader) -> bool:
    """Whether a whole answer comes."""
    head = await reader.readuntil(b"\r\n\r\n")
    return head.startswith(b"HTTP/1.1 200") and await reader.readexactly(5) == b'"yes"'


async def cut_off(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends the connection soon."""
    async with asyncio.timeout(10):
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
    return True


async def test_who_sends_slowly_is_cut_off(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leitstand.web.brisk_protocol.HEAD_PATIENCE", 0.3)
    async with (
        client(port) as (silent, _),
        client(port, REQUEST[:-2]) as (slow, writer),
        client(port, REQUEST) as (second, again),
    ):
        assert await answered(second)
        again.write(REQUEST)
        assert await answered(second)
        again.write(REQUEST[:9])
        writer.write(b"X: y\r\n")
        for reader in (silent, slow, second):
            assert await cut_off(reader)


async def test_too_many_connections_leave_room(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leitstand.web.brisk_protocol.CONNECTION_LIMIT", 2)
    async with client(port, REQUEST) as (first, _), client(port, REQUEST) as (second, _):
        assert await answered(first)
        assert await answered(second)
        async with client(port, REQUEST) as (third, _):
            assert await cut_off(third)
    async with client(port, REQUEST) as (reader, _):
        assert await answered(reader)


async def test_a_client_that_stalls_does_not_hold_up_the_end() -> None:
    with bind("127.0.0.1", 0) as listener:
        async with contextlib.AsyncExitStack() as stack:
            async with serving(FastAPI(), listener):
                port = listener.getsockname()[1]
                reader, _ = await stack.enter_async_context(client(port, REQUEST[:-2]))
                await asyncio.sleep(0)
            assert await cut_off(reader)


def test_a_taken_address_is_named() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ListenError, match="cannot listen"),
    ):
        bind(*taken.getsockname())
