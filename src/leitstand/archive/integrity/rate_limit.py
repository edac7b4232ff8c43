"""Keeps several threads together below a rate of bytes."""

import threading
import time


class RateLimit:
    """``rate`` bytes a second, over all threads; None: as fast as can be."""

    def __init__(self, rate: float | None, stop: threading.Event) -> None:
        self._rate = rate
        self._stop = stop
        self._lock = threading.Lock()
        self._paid_until = time.monotonic()

    def spend(self, count: int) -> None:
        """Account for bytes that were read, and wait until they are paid for, or for the stop.

        Time that passed without reading is not saved up: after a pause nobody may go faster.
        """
        if self._rate is None:
            return
        with self._lock:
            now = time.monotonic()
            self._paid_until = max(self._paid_until, now) + count / self._rate
            wait = self._paid_until - now
        self._stop.wait(wait)
