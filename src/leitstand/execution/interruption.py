"""Lets blocking code in a process of its own be interrupted and still clean up after itself."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The process was asked to end (SIGTERM, SIGHUP) while blocking code ran."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Have SIGTERM raise Interrupted in the main thread for as long as the context lasts.

    So does SIGHUP, by which a terminal that is closed would leave everything lying about, unless
    somebody ignores or handles it. Only the first signal does; further ones are ignored, so that
    the clean-up is not interrupted. Waiting system calls return at once. To be used in the main
    thread.
    """
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        numbers.append(signal.SIGHUP)

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
