"""One request and its answer over HTTP/1.1; nothing is kept or followed.

A client for all purposes works for 2 ms on each request: with a hundred modules that is a fifth of
a second in which none of them is read.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httptools

LONGEST_HEAD = 1 << 16
"""Bytes that status and headers may have, and that are read in one go."""


class NoConnectionError(Exception):
    """Nobody answers there, or it is somebody else."""


class BrokenAnswerError(Exception):
    """What came is no answer, or not all of it."""


@dataclass(frozen=True)
class Place:
    """Where to connect to; with ``trust`` over TLS, to whoever can show that it is ``name``."""

    address: str
    port: int
    name: str
    trust: ssl.SSLContext | None


class Exchange:
    """An answer while it comes. The parser calls the methods whose names begin with ``on_``."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.headers: dict[str, str] = {}
        """By name in small letters."""
        self._reader = reader
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._has_head = False
        self._complete = False

    async def status(self) -> int:
        """The status, once all headers are there; raises BrokenAnswerError."""
        size = 0
        while not self._has_head:
            read = await self._read()
            if not self._has_head and (not read or size > LONGEST_HEAD):
                raise BrokenAnswerError
            size += read
        status: int = self._parser.get_status_code()
        return status

    async def body(self) -> AsyncIterator[bytes]:
        """The body in parts, as they come; raises BrokenAnswerError if there is no more of it."""
        while True:
            parts, self._parts = self._parts, []
            for part in parts:
                yield part
            if self._complete:
                return
            if not await self._read():
                if "content-length" in self.headers or "transfer-encoding" in self.headers:
                    raise BrokenAnswerError
                return

    async def _read(self) -> int:
        """Read what has come; how many bytes, 0 at the end."""
        data = b""
        try:
            data = await self._reader.read(LONGEST_HEAD)
            if data:
                self._parser.feed_data(data)
        except (OSError, httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self._complete:  # what follows an answer is none
                raise BrokenAnswerError from None
        return len(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; of several of a name one after the other."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """The body follows."""
        self._has_head = True

    def on_body(self, part: bytes) -> None:
        """Some of the body."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """That was all."""
        self._complete = True


@asynccontextmanager
async def exchange(place: Place, request: bytes) -> AsyncIterator[Exchange]:
    """The answer to the request; the connection is cut off afterwards. Raises NoConnectionError."""
    name = place.name if place.trust is not None else None
    try:
        reader, writer = await asyncio.open_connection(
            place.address, place.port, ssl=place.trust, server_hostname=name, limit=LONGEST_HEAD
        )
    except OSError:
        raise NoConnectionError from None
    try:
        writer.write(request)
        yield Exchange(reader)
    finally:
        writer.transport.abort()
