"""One client: what it wants to hear, and what waits to be sent to it."""

import asyncio
from collections import deque
from collections.abc import Iterable

from leitstand.live.message import Message

MOST_MESSAGES = 1000
MOST_CHARACTERS = 4 << 20
"""What may wait for one client. The texts are shared by all that wait for the same message."""


class Subscriber:
    """What waits for a client that may be slow; whoever fills it looks whether it is ``full``."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self._waiting: deque[str] = deque()
        self._characters = 0
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._cut_off = asyncio.Event()

    def offer(self, message: Message) -> None:
        """Put the message where the client gets it, if it wants it; never blocks."""
        if message.topic not in self.topics or self._cut_off.is_set():
            return
        self._waiting.append(message.text)
        self._characters += len(message.text)
        self._filled.set()
        if self.full:
            self._room.clear()

    @property
    def full(self) -> bool:
        """Whether more waits than may."""
        return len(self._waiting) > MOST_MESSAGES or self._characters > MOST_CHARACTERS

    async def has_room(self) -> None:
        """Return once it is not full."""
        await self._room.wait()

    def cut_off(self) -> None:
        """Give it up: a client that misses messages had better come again and ask for them."""
        self._cut_off.set()
        self._room.set()
        self._waiting.clear()
        self._characters = 0

    async def was_cut_off(self) -> None:
        """Return once it was given up."""
        await self._cut_off.wait()

    async def take(self) -> str:
        """The next message's text, once there is one; waits for ever when it was cut off."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        text = self._waiting.popleft()
        self._characters -= len(text)
        if not self.full:
            self._room.set()
        return text
