"""The pauses between attempts: longer from one to the next, short again after a success."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leitstand.errors import FailureClass, LeitstandError

T = TypeVar("T")


class Backoff:
    """Doubles from ``first`` to ``longest`` seconds."""

    def __init__(self, first: float = 0.1, longest: float = 30.0) -> None:
        self._first = first
        self._longest = longest
        self.pause = first

    async def wait(self) -> None:
        """Wait, longer the next time."""
        pause, self.pause = self.pause, min(self.pause * 2, self._longest)
        await asyncio.sleep(pause)

    def reset(self) -> None:
        """Begin anew: something succeeded."""
        self.pause = self._first


async def patiently(attempt: Callable[[], Awaitable[T]], attempts: int = 7) -> T:
    """What ``attempt`` returns; one that fails for a transient reason is made again, for 6 s."""
    backoff = Backoff()
    for _ in range(attempts - 1):
        try:
            return await attempt()
        except LeitstandError as error:
            if error.failure_class is not FailureClass.TRANSIENT:
                raise
        await backoff.wait()
    return await attempt()
