"""How blocking work takes the signals that would end its process: as an exception, to clean up.

Python runs handlers in the main thread alone. In other threads nothing is changed here, and nothing
is interrupted either.
"""

import asyncio
import signal
import threading
from types import FrameType
from typing import Any, Self

_FATAL = (signal.SIGTERM, signal.SIGHUP)
"""They end a process without any clean-up, unless somebody handles them."""


class Interrupted(SystemExit):
    """A signal asked the process to end; with the exit code by which a shell tells that."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number).name


class Interruptions:
    """A context in which signals that would kill the process raise Interrupted instead.

    Only the first does, so that the clean-up is not interrupted. Waiting system calls return at
    once. Where somebody else handles a signal, or ignores it, that stays; only what has
    ``cancel_when_terminated`` gives way. At the end all is as it was before.
    """

    def __init__(self) -> None:
        self._former: dict[int, Any] = {}
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        for number in _FATAL:
            if _gives_way(signal.getsignal(number)):
                self._handle(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def no_return(self) -> None:
        """From here on nothing interrupts: what is begun now must not be left halfway.

        Who wanted the work to end gets that, only a moment later and with the work done.
        """
        for number in (*_FATAL, signal.SIGINT):
            self._handle(number, signal.SIG_IGN)

    def _handle(self, number: int, handler: Any) -> None:  # noqa: ANN401 -- as signal.signal
        former = signal.getsignal(number)
        if self._main and former is not None:  # None: not from Python, and not to be put back
            self._former.setdefault(number, former)
            signal.signal(number, handler)

    def _stop(self, number: int, _: FrameType | None) -> None:
        for each in _FATAL:
            self._handle(each, signal.SIG_IGN)
        raise Interrupted(number)


def interruptible() -> Interruptions:
    """The context for work that blocks, see Interruptions."""
    return Interruptions()


def cancel_when_terminated(task: asyncio.Task[Any]) -> None:
    """Have SIGTERM cancel ``task``, of the running loop; blocking work in it is interrupted.

    A cancellation reaches the task only when its loop goes on, which blocking work keeps it from.
    To be called in the main thread.
    """
    task.get_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    signal.signal(signal.SIGTERM, _left_to_the_loop)  # so that it is known from others' handlers


def _left_to_the_loop(number: int, frame: FrameType | None) -> None:
    """The loop hears of signals by its descriptor (``signal.set_wakeup_fd``), not by handlers."""


def _gives_way(handler: Any) -> bool:  # noqa: ANN401 -- as signal.getsignal
    return handler in (signal.SIG_DFL, _left_to_the_loop)
