"""Which objects are read next: pure, without sorting what is there.

Never-checked objects come first, then those whose check is the longest ago; ties go by key. What
was checked within the cool-down is left out.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Generic, TypeVar

Of = TypeVar("Of")

_NEVER = float("-inf")


class Cooldown:
    """The time after a check in which an object is not read again."""

    def __init__(self, length: timedelta, now: datetime) -> None:
        self._length = length.total_seconds()
        self._now = now.timestamp()

    def is_over(self, checked_at: float | None) -> bool:
        """Whether an object is due that was checked in seconds since 1970, None for never.

        A time in the future counts like any other: clocks differ.
        """
        return checked_at is None or abs(self._now - checked_at) >= self._length


class _Candidate(Generic[Of]):
    """An object that may be read; the less urgent is the lesser, and so at the top of a heap."""

    __slots__ = ("checked_at", "key", "of")

    def __init__(self, checked_at: float, key: bytes, of: Of) -> None:
        self.checked_at, self.key, self.of = checked_at, key, of

    def __lt__(self, other: "_Candidate[Of]") -> bool:
        if self.checked_at != other.checked_at:
            return self.checked_at > other.checked_at
        return self.key > other.key


class Sampler(Generic[Of]):
    """Keeps the ``size`` most urgent of the objects that it is offered, each once, in any order.

    Memory and time per object depend on ``size`` alone: a heap of the most urgent so far, which is
    only made when there are more objects than are wanted.
    """

    def __init__(self, cooldown: Cooldown, size: int) -> None:
        self._cooldown = cooldown
        self._size = size
        self._kept: list[tuple[float, bytes, Of]] = []
        self._heap: list[_Candidate[Of]] = []

    def offer(self, key: bytes, checked_at: float | None, of: Of) -> None:
        """Consider an object; when it was checked in seconds since 1970, None for never."""
        if not self._cooldown.is_over(checked_at):
            return
        when = _NEVER if checked_at is None else checked_at
        if self._heap:
            candidate = _Candidate(when, key, of)
            if self._heap[0] < candidate:
                heapq.heapreplace(self._heap, candidate)
        elif len(self._kept) < self._size:
            self._kept.append((when, key, of))
        elif self._size > 0:
            self._begin_to_choose()
            self.offer(key, checked_at, of)

    def _begin_to_choose(self) -> None:
        self._heap = [_Candidate(*each) for each in self._kept]
        self._kept.clear()
        heapq.heapify(self._heap)

    def take(self) -> list[tuple[bytes, Of]]:
        """The sample, the most urgent first; nothing is kept afterwards."""
        kept = self._kept + [(each.checked_at, each.key, each.of) for each in self._heap]
        self._kept, self._heap = [], []
        kept.sort(key=itemgetter(1))  # by key then by time: most come in order of their keys
        kept.sort(key=itemgetter(0))
        return [(key, of) for _, key, of in kept]


def sample(
    existing: Iterable[bytes],
    last_scrubbed: Mapping[bytes, datetime],
    cooldown: timedelta,
    size: int,
    now: datetime,
) -> list[bytes]:
    """The keys to read next, the most urgent first; the same input gives the same output."""
    sampler: Sampler[None] = Sampler(Cooldown(cooldown, now), size)
    for key in existing:
        checked_at = last_scrubbed.get(key)
        sampler.offer(key, None if checked_at is None else checked_at.timestamp(), None)
    return [key for key, _ in sampler.take()]
