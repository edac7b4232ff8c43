"""Hands messages to the clients of this server."""

import asyncio
from collections.abc import Iterator, Sequence

from leitstand.live.message import Message
from leitstand.live.message_ledger import MessageLedger
from leitstand.live.subscriber import Subscriber

PORTION_MESSAGES = 200
PORTION_CHARACTERS = 1 << 20
"""What is handed on at once in a burst."""

MOMENT = 1.0
"""Seconds within which a client must have made room."""


class Hub:
    """The clients, and the place in the stream up to which they were handed all messages."""

    def __init__(self, ledger: MessageLedger) -> None:
        self._ledger = ledger
        self._subscribers: set[Subscriber] = set()
        self._position: int | None = None
        self._turn = asyncio.Lock()

    @property
    def position(self) -> int | None:
        """The id of the last message that was handed on; None while nobody listens."""
        return self._position

    @property
    def topics(self) -> frozenset[str]:
        """All that anybody here listens to."""
        return frozenset(topic for each in self._subscribers for topic in each.topics)

    async def join(self, subscriber: Subscriber) -> int:
        """Hand it every message of its topics from now on; the id after which that begins."""
        await self._ledger.want(subscriber.topics)
        async with self._turn:
            if self._position is None:
                self._position = (await self._ledger.bounds()).newest
            self._subscribers.add(subscriber)
            return self._position

    def leave(self, subscriber: Subscriber) -> None:
        """Forget it."""
        self._subscribers.discard(subscriber)
        if not self._subscribers:
            self._position = None

    async def deliver(self, messages: Sequence[Message]) -> None:
        """Hand on the messages that follow the position, and cut off who cannot keep up.

        In a burst all are waited for after each portion, but for a moment only, and for the same
        client but once: it has to have room by then.
        """
        for portion in portions(messages):
            self._offer(portion)
            await self._cut_off_slow()

    def _offer(self, messages: Sequence[Message]) -> None:
        for message in messages:
            # All may have left meanwhile, and others have come who begin later.
            if self._position is None or message.id <= self._position:
                continue
            for subscriber in self._subscribers:
                subscriber.offer(message)
            self._position = message.id

    async def _cut_off_slow(self) -> None:
        full = [subscriber for subscriber in self._subscribers if subscriber.full]
        if not full:
            return
        waiting = [asyncio.create_task(subscriber.has_room()) for subscriber in full]
        await asyncio.wait(waiting, timeout=MOMENT)
        for task, subscriber in zip(waiting, full, strict=True):
            if task.cancel():
                subscriber.cut_off()


def portions(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """The messages in pieces that are small beside what may wait for a client."""
    begin, characters = 0, 0
    for end, message in enumerate(messages):
        characters += len(message.text)
        if characters >= PORTION_CHARACTERS or end + 1 - begin == PORTION_MESSAGES:
            yield messages[begin : end + 1]
            begin, characters = end + 1, 0
    if begin < len(messages):
        yield messages[begin:]
