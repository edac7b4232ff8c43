"""Hashes many objects side by side: keeps all hashers busy, and their outcomes few."""

import queue
import threading
import time
from contextlib import ExitStack, suppress
from typing import Self

from leitstand.archive.integrity.hashed import Handful
from leitstand.archive.integrity.hasher import Hasher, hasher_for
from leitstand.archive.integrity.store import Store
from leitstand.archive.integrity.tree_hashing import SLICE, Allowance
from leitstand.archive.integrity.work_list import WorkList

LARGEST_HANDFUL = 1_000
"""Objects that a hasher is given at once when they are small: as long as it takes 0.02 s."""

READY = 4
"""Handfuls of outcomes that wait for whoever takes them in; more wait with the hashers."""

UNLIMITED = float("inf")


class Hashing:
    """Hashes what is and comes on the list, as long as the context lasts.

    ``max_rate`` is in bytes a second, over all ``hashers`` together. At most ``budget`` bytes are
    begun: the object that crosses it is read whole.
    """

    def __init__(
        self,
        store: Store,
        work: WorkList,
        hashers: int,
        max_rate: float | None = None,
        budget: float = UNLIMITED,
    ) -> None:
        self.bytes_read = 0
        self._store = store
        self._left = work
        self._working = hashers
        self._limits = max_rate or UNLIMITED, budget
        self._done: queue.Queue[Handful | BaseException | None] = queue.Queue(READY)
        self._stopped = threading.Event()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            allowance = Allowance.begin(*self._limits)
            stack.callback(allowance.close)
            for number in range(self._working):
                hasher = hasher_for(self._store, allowance)
                stack.callback(hasher.close)
                thread = threading.Thread(target=self._work, args=(hasher,), name=f"scrub-{number}")
                thread.start()
                stack.callback(self._end, hasher, thread)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stop, whatever is being read, and wait until nothing is left at work."""
        self._stopped.set()
        self._left.drop()
        self._stack.close()
        self._done.put(None)  # for a thread that still waits in ``next``

    def next(self) -> Handful | None:
        """Wait for more outcomes; None when all has been read, or the budget is used.

        Raises what a thread raised that is no matter of one object. From any thread.
        """
        while self._working and not self._stopped.is_set():
            match self._done.get():
                case _ if self._stopped.is_set():
                    return None
                case None:
                    self._working -= 1
                case BaseException() as error:
                    raise error
                case handful:
                    self.bytes_read += handful.bytes_read
                    return handful
        return None

    def _work(self, hasher: Hasher) -> None:
        try:
            self._hash_on(hasher)
        except BaseException as error:  # told to the one who waits, in its own thread
            self._left.drop()
            self._done.put(error)
        self._done.put(None)

    def _hash_on(self, hasher: Hasher) -> None:
        size = 1
        while taken := self._left.take(size):
            began = time.monotonic()
            done = hasher.hash(taken)
            quick = time.monotonic() - began < SLICE / 2
            self._left.give_back(taken[len(done) :])
            if not done:
                self._left.drop()
                break
            self._done.put(done)
            # A slice that was too short for all of them is full: the next is to be as large. One
            # that took its time does not grow either: nobody else could read what it held back.
            if len(done) < len(taken):
                size = len(done)
            elif quick:
                size = min(2 * size, LARGEST_HANDFUL)

    def _end(self, hasher: Hasher, thread: threading.Thread) -> None:
        hasher.stop()
        while thread.is_alive():
            self._discard()
            thread.join(0.01)
        self._discard()

    def _discard(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._done.get_nowait()
