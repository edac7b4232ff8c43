"""Messages from RabbitMQ: a queue bound to a direct exchange, consumed by one server alone."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from aiormq.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelAccessRefused,
    ChannelInvalidStateError,
    ChannelLockedResource,
    ChannelPreconditionFailed,
)

from leitstand.downtimes.feed import (
    Delivery,
    Feed,
    FeedError,
    QueueMismatchError,
    QueueTakenError,
)
from leitstand.masking import mask_url

DEADLINE = 10.0
"""Seconds for one request to the server."""

LOOK_AFTER = 30.0
"""Seconds of silence after which we look whether the queue is still there."""

_IN_USE = "in exclusive use"
"""In what the server says when another consumes; the code is that for users who may not. Protocol
texts of RabbitMQ are English."""

# inequivalent arg 'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'
_MISMATCH = re.compile(
    r"inequivalent arg '(?P<flag>[^']+)' for (?P<what>queue|exchange) '(?P<name>[^']*)'.*"
    r"received (?:the value )?'?(?P<ours>\w+)'?.* but current is (?:the value )?'?(?P<theirs>\w+)'?"
)


@dataclass(frozen=True)
class RabbitSettings:
    """Where the queue is, and the flags with which it and its exchange were declared."""

    url: str
    queue: str
    routing_key: str
    exchange: str = "statusengine"
    durable_queue: bool = False
    durable_exchange: bool = False
    batch: int = 500


class RabbitSource:
    """A queue of a RabbitMQ server; declared as the core's broker module does, if need be."""

    def __init__(self, settings: RabbitSettings) -> None:
        self.name = f"{mask_url(settings.url)} {settings.queue}"
        self._settings = settings

    async def check(self) -> None:
        """Declare exchange and queue without consuming."""
        async with self._channel() as channel:
            await self._declare(channel)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Feed]:
        """Declare, and consume exclusively: the server refuses a second consumer meanwhile."""
        async with self._channel() as channel:
            queue = await self._declare(channel)
            feed = RabbitFeed(channel, queue)
            try:
                await queue.consume(feed.receive, exclusive=True, timeout=DEADLINE)
            except ChannelAccessRefused as error:
                if _IN_USE not in str(error):
                    raise
                raise QueueTakenError(
                    f"the queue {queue.name} has another consumer",
                    detail=str(error),
                    remedy="Fine if that is another control server: this one takes over when it"
                    " ends. A Statusengine worker must be told to leave this queue alone.",
                ) from error
            yield feed

    @asynccontextmanager
    async def _channel(self) -> AsyncIterator[AbstractChannel]:
        with _translated(self.name):
            connection = await aio_pika.connect(
                self._settings.url,
                timeout=DEADLINE,
                client_properties={"connection_name": "leitstand"},
            )
            async with connection:
                channel = await connection.channel(publisher_confirms=False)
                # Twice a batch: the next one is on its way while one is being committed.
                await channel.set_qos(prefetch_count=2 * self._settings.batch)
                yield channel

    async def _declare(self, channel: AbstractChannel) -> AbstractQueue:
        settings = self._settings
        try:
            exchange = await channel.declare_exchange(
                settings.exchange,
                aio_pika.ExchangeType.DIRECT,
                durable=settings.durable_exchange,
                timeout=DEADLINE,
            )
            queue = await channel.declare_queue(
                settings.queue, durable=settings.durable_queue, timeout=DEADLINE
            )
        except ChannelPreconditionFailed as error:
            raise mismatch(str(error)) from error
        await queue.bind(exchange, settings.routing_key, timeout=DEADLINE)
        return queue


class RabbitFeed:
    """A channel with a consumer on it."""

    def __init__(self, channel: AbstractChannel, queue: AbstractQueue) -> None:
        self._channel = channel
        self._queue = queue
        self._received: asyncio.Queue[AbstractIncomingMessage | None] = asyncio.Queue()
        channel.close_callbacks.add(self._closed)

    async def receive(self, message: AbstractIncomingMessage) -> None:
        """Take a message from the library."""
        self._received.put_nowait(message)

    def _closed(self, *_: object) -> None:
        self._received.put_nowait(None)

    async def next_batch(self, most: int) -> Sequence[Delivery]:
        """What has arrived, once something has."""
        batch = [await self._first()]
        while len(batch) < most and not self._received.empty():
            batch.append(_delivery(self._received.get_nowait()))
        return batch

    async def _first(self) -> Delivery:
        while True:
            try:
                async with asyncio.timeout(LOOK_AFTER):
                    return _delivery(await self._received.get())
            except TimeoutError:
                await self.depth()  # fails if somebody deleted the queue under us

    async def acknowledge(self, batch: Sequence[Delivery]) -> None:
        """Acknowledge the last and with it all before it."""
        last: Any = batch[-1].tag
        with _translated(self._queue.name):
            await last.ack(multiple=True)

    async def depth(self) -> int:
        """Messages that are ready, and those that were sent ahead and wait here."""
        with _translated(self._queue.name):
            queue = await self._channel.declare_queue(
                self._queue.name, passive=True, timeout=DEADLINE
            )
        return (queue.declaration_result.message_count or 0) + self._received.qsize()


def _delivery(message: AbstractIncomingMessage | None) -> Delivery:
    if message is None:
        raise FeedError("the connection to RabbitMQ was lost")
    return Delivery(message.body, message, bool(message.redelivered))


def mismatch(text: str) -> QueueMismatchError:
    """The server's complaint about flags in words."""
    found = _MISMATCH.search(text)
    if found is None:
        return QueueMismatchError(
            "the queue or exchange exists with other properties",
            detail=text,
            remedy="Compare them with downtimes.durable_queue and downtimes.durable_exchange.",
        )
    what, flag = found["what"], found["flag"]
    remedy = f"Delete the {what}: Leitstand or the core's broker module makes it as both need it."
    if flag == "durable":
        remedy = (
            f"Set downtimes.durable_{what} = {found['theirs']}, as the core's broker module has"
            f" it; or delete the {what} and have both say the same."
        )
    return QueueMismatchError(
        f"the {what} {found['name']!r} exists with {flag} = {found['theirs']},"
        f" while {_wanted_by(flag)} {flag} = {found['ours']}",
        detail=text,
        remedy=remedy,
    )


def _wanted_by(flag: str) -> str:
    return "the configuration says" if flag == "durable" else "Leitstand and the module need"


@contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except AuthenticationError as error:
        raise FeedError(
            f"{name} refuses the user or password of downtimes.source", detail=str(error)
        ) from error
    except ChannelAccessRefused as error:
        raise FeedError(
            f"{name} does not let the user of downtimes.source consume",
            detail=str(error),
            remedy="It needs the permissions configure, write and read on queue and exchange.",
        ) from error
    except ChannelLockedResource as error:
        raise QueueTakenError(f"{name} is in exclusive use elsewhere", detail=str(error)) from error
    except (AMQPError, ChannelInvalidStateError, OSError, TimeoutError) as error:
        detail = str(error).strip() or type(error).__name__
        raise FeedError(f"{name} does not answer", detail=detail) from error
