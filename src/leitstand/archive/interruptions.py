"""How a restore takes the signals that want to end it: at once, until its target is replaced.

Python runs handlers in the main thread alone. In other threads nothing is changed here, and nothing
is interrupted either.
"""

import signal
import threading
from types import FrameType
from typing import Any, Self

_FATAL = (signal.SIGTERM, signal.SIGHUP)
"""They end a process without any clean-up, unless somebody handles them."""


class Terminated(SystemExit):
    """A signal asked the process to end while a restore was going on."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number).name


class Interruptions:
    """A context in which signals that would kill the process raise Terminated instead.

    Only the first does, so that the clean-up is not interrupted; where somebody else handles a
    signal, or ignores it, that stays. At the end all is as it was before.
    """

    def __init__(self) -> None:
        self._former: dict[int, Any] = {}
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        for number in _FATAL:
            if signal.getsignal(number) is signal.SIG_DFL:
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
        raise Terminated(number)
