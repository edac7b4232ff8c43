"""The end of a control server: what asks for it, how long it may take, and the last resort."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from leitstand.store.embedded import STOP_PATIENCE

log = structlog.get_logger(__name__)

T = TypeVar("T")

WAY_OUT = 4.75
"""Seconds beside the grace period after which the process is gone, whatever hangs in it."""

STOPPING = 2.5
"""Seconds of the way out that are kept for what comes after the embedded server was told to end."""

HURRY = 0.5
"""Seconds that the embedded server gets at least, and no more when the end was asked for twice."""


class Ending:
    """SIGTERM or SIGINT ends the server, during the start, too; the next signal hurries it.

    ``stop`` is set by the first one. ``hurry`` is called at each further one. A thread of its own
    ends the process when the time is over: a call that hangs in the kernel ends no other way.
    """

    def __init__(self, grace: float) -> None:
        self.stop = asyncio.Event()
        self.hurry: Callable[[], object] = lambda: None
        self._allowed = grace + WAY_OUT
        self._until: float | None = None
        self._hurried = False
        self._starting: asyncio.Timeout | None = None

    def listen(self) -> None:
        """Take the signals from now on. To be called in the event loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked)

    async def unless_asked(self, start: Awaitable[T]) -> T | None:
        """What ``start`` returns; None if it was cancelled, since the end was asked for."""
        try:
            async with asyncio.timeout(None) as self._starting:
                return await start
        except TimeoutError:
            if not self.stop.is_set():
                raise
            return None
        finally:
            self._starting = None

    def left(self) -> float:
        """Seconds that stopping the embedded server may take, to be asked when it comes to that."""
        if self._until is None:
            return STOP_PATIENCE
        if self._hurried:
            return HURRY
        return max(HURRY, self._until - STOPPING - time.monotonic())

    def _asked(self) -> None:
        if self.stop.is_set():
            log.warning("asked twice: runs are killed")
            self._hurried = True
            self.hurry()
            return
        log.info("stopping: runs are cancelled")
        self._until = time.monotonic() + self._allowed
        alarm = threading.Timer(self._allowed, _leave)
        alarm.daemon = True
        alarm.start()
        self.stop.set()
        if self._starting is not None:
            self._starting.reschedule(asyncio.get_running_loop().time())


def _leave() -> None:
    threading.Timer(0.2, os._exit, [1]).start()  # writing to a log may hang, too
    log.error("the end took too long: what still hangs is left behind")
    os._exit(1)
