"""Counts failed attempts by where they came from, in bounded memory, and stops those who guess."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from leitstand.errors import LeitstandError

LIMIT = 10
"""Failures within a window after which a source has to wait for its end."""

WINDOW = 60.0
"""Seconds."""

SOURCES = 10_000
"""Sources that are remembered; the one whose failures began first is forgotten for another."""


class TooManyFailuresError(LeitstandError):
    """A source has failed too often of late; ``retry_after`` is in seconds."""

    code = "TOO_MANY_FAILURES"

    def __init__(self, retry_after: float) -> None:
        self.retry_after = math.ceil(retry_after)
        super().__init__(
            "too many attempts with wrong credentials came from there",
            remedy=f"Wait {self.retry_after} s, then try with the right ones.",
        )


class FailedAttempts:
    """A window for each source, which begins with its first failure."""

    def __init__(self, limit: int = LIMIT, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._windows: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def add(self, source: Hashable) -> None:
        """One more failure of the source."""
        began, count = self._window(source)
        self._windows[source] = (began, count + 1)
        if len(self._windows) > SOURCES:
            self._windows.popitem(last=False)

    def check(self, source: Hashable) -> None:
        """Raise TooManyFailuresError while the source has to wait."""
        wait = self.wait(source)
        if wait > 0:
            raise TooManyFailuresError(wait)

    def wait(self, source: Hashable) -> float:
        """Seconds until the source may try again; 0 while it has not failed too often."""
        began, count = self._window(source)
        return 0.0 if count < self._limit else began + WINDOW - self._clock()

    def _window(self, source: Hashable) -> tuple[float, int]:
        now = self._clock()
        began, count = self._windows.get(source, (now, 0))
        if now - began < WINDOW:
            return began, count
        del self._windows[source]
        return now, 0

    def __len__(self) -> int:
        return len(self._windows)
