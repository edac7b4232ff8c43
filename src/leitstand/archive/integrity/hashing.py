"""Reads objects in threads and hashes them; Python's lock is free while they read and hash."""

import hashlib
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from leitstand.archive.integrity.rate_limit import RateLimit
from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.store import ObjectMissingError, ObjectUnreadableError, Store

HANDFUL = 32
"""Objects that a thread takes at a time and tells the results of at once."""


@dataclass(frozen=True, slots=True)
class Hashed:
    """What reading one object gave: its SHA-256 and size, or why it could not be read."""

    revision: Revision
    actual: str | None
    size: int
    missing: bool = False
    error: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether the content is what the database says."""
        return self.actual is not None and self.actual == self.revision.checksum


Handful = list[Hashed]


class HashingThreads:
    """Hashes objects in the order given, in threads that work as long as the context lasts.

    At most ``budget`` bytes are begun: the object that crosses it is read whole.
    """

    def __init__(
        self,
        store: Store,
        revisions: Sequence[Revision],
        threads: int,
        max_rate: float | None = None,
        budget: float = float("inf"),
    ) -> None:
        self.bytes_read = 0
        self._stop = threading.Event()
        self._store = store
        self._limit = RateLimit(max_rate, self._stop)
        self._budget = budget
        self._handfuls = (
            revisions[start : start + HANDFUL] for start in range(0, len(revisions), HANDFUL)
        )
        self._lock = threading.Lock()
        self._done: queue.SimpleQueue[Handful | BaseException | None] = queue.SimpleQueue()
        self._working = threads
        self._threads = [
            threading.Thread(target=self._work, name=f"scrub-{number}") for number in range(threads)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stop: each thread ends after the piece that it is reading."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def next(self) -> Handful | None:
        """Wait for more outcomes; None when all has been read, or the budget is used.

        Raises what a thread raised that is no matter of one object. From any thread.
        """
        while self._working:
            match self._done.get():
                case None:
                    self._working -= 1
                case BaseException() as error:
                    raise error
                case handful:
                    return handful
        return None

    def _work(self) -> None:
        try:
            while not self._is_over():
                with self._lock:
                    taken = next(self._handfuls, None)
                if taken is None:
                    break
                self._done.put(self._hash_all(taken))
        except BaseException as error:  # told to the one who waits, in its own thread
            self._done.put(error)
        self._done.put(None)

    def _hash_all(self, revisions: Sequence[Revision]) -> Handful:
        done: Handful = []
        for revision in revisions:
            if self._is_over():
                break
            hashed = hash_object(self._store, revision, self._account)
            if self._stop.is_set():  # it may have been cut short
                break
            done.append(hashed)
        return done

    def _is_over(self) -> bool:
        return self._stop.is_set() or self.bytes_read >= self._budget

    def _account(self, count: int) -> bool:
        with self._lock:
            self.bytes_read += count
        self._limit.spend(count)
        return not self._stop.is_set()


def hash_object(
    store: Store, revision: Revision, account: Callable[[int], bool] = lambda _: True
) -> Hashed:
    """Read one object whole, piece by piece; ``account`` hears of each and may end it by False."""
    digest, size = hashlib.sha256(usedforsecurity=False), 0
    try:
        for piece in store.read(revision.storage_key):
            digest.update(piece)
            size += len(piece)
            if not account(len(piece)):
                break
    except ObjectMissingError as error:
        return Hashed(revision, None, size, missing=True, error=error.message)
    except ObjectUnreadableError as error:
        return Hashed(revision, None, size, error=error.message)
    return Hashed(revision, digest.hexdigest(), size)
