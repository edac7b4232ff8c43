"""Messages from Gearman: background jobs whose function has the queue's name.

The protocol is that of <https://gearman.org/protocol/>, of which a worker needs nine packets. Jobs
are not failed: WORK_FAIL would delete them. Who does not answer gets them again, at the tail.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from enum import IntEnum
from time import monotonic
from typing import Protocol

from leitstand.downtimes.feed import Delivery, Feed, FeedError

DEFAULT_PORT = 4730
HEADER = struct.Struct(">4sII")
REQUEST, RESPONSE = b"\0REQ", b"\0RES"
CONNECT_DEADLINE = 10.0

ANSWER_DEADLINE = 60.0
"""Seconds in which a server that is there has answered, or taken what we send."""

LOOK_AFTER = 30.0
"""Seconds after which we look whether server and turn are still there."""


class PacketType(IntEnum):
    """The packets that are used, by their numbers."""

    CAN_DO = 1
    PRE_SLEEP = 4
    NOOP = 6
    JOB_CREATED = 8
    GRAB_JOB = 9
    NO_JOB = 10
    JOB_ASSIGN = 11
    WORK_COMPLETE = 13
    SUBMIT_JOB_BG = 18
    ERROR = 19
    SET_CLIENT_ID = 22


Check = Callable[[], Awaitable[None]]
"""Raises FeedError if what was had is no longer."""


class Turn(Protocol):
    """The right to consume, which one of several control servers has."""

    def held(self) -> AbstractAsyncContextManager[Check]:
        """Take it and keep it; gives the question whether it is still ours.

        Raises FeedError if it cannot be had now.
        """


def packet(kind: PacketType, *arguments: bytes) -> bytes:
    """A request as it goes over the wire."""
    data = b"\0".join(arguments)
    return HEADER.pack(REQUEST, kind, len(data)) + data


class GearmanSource:
    """A Gearman server's queue.

    The server has no exclusive consumers; ``turn`` sees to it that only one control server works.
    """

    def __init__(self, host: str, port: int, queue: str, turn: Turn) -> None:
        self.name = f"gearman://{host}:{port}/{queue}"
        self._address = host, port
        self._queue = queue
        self._turn = turn

    async def check(self) -> None:
        """Connect and leave."""
        async with self._streams():
            pass

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Feed]:
        """Take our turn and register as a worker."""
        async with self._turn.held() as still_ours, self._streams() as (reader, writer):
            writer.write(packet(PacketType.SET_CLIENT_ID, b"leitstand"))
            writer.write(packet(PacketType.CAN_DO, self._queue.encode()))
            yield GearmanFeed(reader, writer, self._depth, still_ours)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        try:
            async with asyncio.timeout(CONNECT_DEADLINE):
                reader, writer = await asyncio.open_connection(*self._address)
        except (OSError, TimeoutError) as error:
            raise FeedError(f"{self.name} does not answer", detail=str(error) or None) from error
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _depth(self) -> int:
        """Jobs of the queue that no worker has yet, by the server's text protocol."""
        async with self._streams() as (reader, writer):
            writer.write(b"status\n")
            while (line := await _line(reader)) not in (b".", b""):
                name, total, running, _ = line.split(b"\t")
                if name == self._queue.encode():
                    return int(total) - int(running)
        return 0


class GearmanFeed:
    """A worker's connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        depth: "DepthQuestion",
        still_ours: Check,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._still_ours = still_ours
        self._looked = monotonic()
        self.depth = depth

    async def next_batch(self, most: int) -> Sequence[Delivery]:
        """Grab jobs; if there is none, sleep until the server wakes us."""
        while True:
            await self._look()
            if jobs := await self._answered(self._grab(most)):
                return jobs
            await self._send(packet(PacketType.PRE_SLEEP))
            await self._sleep()

    async def _look(self) -> None:
        """See now and then that no other server has got our turn."""
        if monotonic() - self._looked >= LOOK_AFTER:
            await self._still_ours()
            self._looked = monotonic()

    async def _sleep(self) -> None:
        """Wait until the server wakes us, or it is time to ask: one that vanished never does.

        It wakes by a packet without data, so that no half of one is lost when the time is over.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AFTER):
                while (await self._receive())[0] is not PacketType.NOOP:
                    pass

    async def _answered(self, question: Awaitable[list[Delivery]]) -> list[Delivery]:
        try:
            async with asyncio.timeout(ANSWER_DEADLINE):
                return await question
        except TimeoutError as error:
            raise _lost(error) from error

    async def acknowledge(self, batch: Sequence[Delivery]) -> None:
        """Complete the jobs."""
        handles = (one.tag for one in batch if isinstance(one.tag, bytes))
        await self._send(
            b"".join(packet(PacketType.WORK_COMPLETE, handle, b"") for handle in handles)
        )

    async def _grab(self, most: int) -> list[Delivery]:
        """Ask for ``most`` jobs at once and read as many answers, in order."""
        await self._send(packet(PacketType.GRAB_JOB) * most)
        jobs: list[Delivery] = []
        answers = 0
        while answers < most:
            kind, data = await self._receive()
            if kind is PacketType.JOB_ASSIGN:
                handle, _, body = data.split(b"\0", 2)
                # The server does not say whether somebody had the job before.
                jobs.append(Delivery(body, handle, again=True))
            answers += kind in (PacketType.JOB_ASSIGN, PacketType.NO_JOB)
        return jobs

    async def _send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            async with asyncio.timeout(ANSWER_DEADLINE):
                await self._writer.drain()
        except OSError as error:
            raise _lost(error) from error

    async def _receive(self) -> tuple[PacketType, bytes]:
        try:
            header = await self._reader.readexactly(HEADER.size)
            _, number, length = HEADER.unpack(header)
            data = await self._reader.readexactly(length)
            kind = PacketType(number)
        except (OSError, EOFError, ValueError) as error:
            raise _lost(error) from error
        if kind is PacketType.ERROR:
            raise FeedError("Gearman reports an error", detail=data.decode("ascii", "replace"))
        return kind, data


class DepthQuestion(Protocol):
    """Asks the server for the queue's depth."""

    async def __call__(self) -> int:
        """Jobs that wait."""


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout(CONNECT_DEADLINE):
            return (await reader.readline()).rstrip(b"\r\n")
    except (OSError, TimeoutError) as error:
        raise _lost(error) from error


def _lost(error: Exception) -> FeedError:
    return FeedError("the connection to Gearman was lost", detail=str(error) or None)
