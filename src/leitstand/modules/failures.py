"""Counts failed attempts by where they came from, in bounded memory."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

LIMIT = 10
"""Failures within a window after which a source is blocked to its end."""

WINDOW = 60.0
"""Seconds."""

SOURCES = 10_000
"""Sources that are remembered; the one that was seen first is forgotten for another."""


class Failures:
    """A window for each source, which begins with its first failure."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def add(self, source: Hashable) -> None:
        """Another failure of the source."""
        began, count = self._window(source)
        self._counts[source] = (began, count + 1)
        if len(self._counts) > SOURCES:
            self._counts.popitem(last=False)

    def blocked(self, source: Hashable) -> bool:
        """Whether the source has failed too often of late."""
        return self._window(source)[1] >= LIMIT

    def _window(self, source: Hashable) -> tuple[float, int]:
        now = self._clock()
        began, count = self._counts.get(source, (now, 0))
        if now - began < WINDOW:
            return began, count
        self._counts.pop(source, None)
        return now, 0

    def __len__(self) -> int:
        return len(self._counts)
