"""Runs an iterator in a thread of its own, a few items ahead of whoever consumes it."""

import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ReadAhead(Generic[T]):
    """A context manager around the items of ``source``, computed up to ``depth`` items ahead.

    Worth it where producing and consuming both leave the interpreter lock alone, as unpacking and
    checksums do. An error of the source is raised to the consumer in its place. Leaving the block
    early stops the source after the item it is busy with.
    """

    def __init__(self, source: Iterator[T], depth: int = 4) -> None:
        self._source = source
        self._ready: queue.Queue[T | _End] = queue.Queue(depth)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._produce, name="read-ahead", daemon=True)

    def __enter__(self) -> Iterator[T]:
        self._thread.start()
        return self._consume()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        while self._thread.is_alive():
            self._discard()
            self._thread.join(0.01)

    def _consume(self) -> Iterator[T]:
        while not isinstance(item := self._ready.get(), _End):
            yield item
        if item.error is not None:
            raise item.error

    def _discard(self) -> None:
        try:
            while True:
                self._ready.get_nowait()
        except queue.Empty:
            pass

    def _produce(self) -> None:
        error: BaseException | None = None
        try:
            for item in self._source:
                self._ready.put(item)
                if self._stopped.is_set():
                    return
        except BaseException as raised:  # belongs to the consumer, whatever it is
            error = raised
        self._ready.put(_End(error))


class _End:
    """The source's last word: nothing more comes, or the error it ended with."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
