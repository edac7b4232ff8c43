"""Lets blocking code in a process of its own be interrupted and still clean up after itself."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The process was asked to end (SIGTERM) while blocking code ran."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Have SIGTERM raise Interrupted in the main thread for as long as the context lasts.

    Only the first signal does; further ones are ignored, so that the clean-up is not interrupted.
    Waiting system calls return at once. To be used in the main thread.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise Interrupted

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
