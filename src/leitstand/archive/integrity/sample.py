"""Which objects are read next: pure, without sorting what is there.

Never-checked objects come first, then those whose check is the longest ago; ties go by key. What
was checked within the cool-down is left out.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

Of = TypeVar("Of")

_NEVER = float("-inf")


class _Candidate(NamedTuple, Generic[Of]):
    """Orders by urgency; ``of`` is what belongs to the key, and never takes part in the order."""

    checked_at: float
    key: bytes
    of: Of


class Sampler(Generic[Of]):
    """Keeps the ``size`` most urgent of the objects that it is offered, each once, in any order.

    Memory and time per object depend on ``size`` alone: a heap of the most urgent so far.
    """

    def __init__(self, cooldown: timedelta, size: int, now: datetime) -> None:
        self._cooldown = cooldown.total_seconds()
        self._size = size
        self._now = now.timestamp()
        self._heap: list[tuple[float, _Reversed, _Candidate[Of]]] = []

    def offer(self, key: bytes, checked_at: datetime | None, of: Of) -> None:
        """Consider an object. A time in the future counts like any other: clocks differ."""
        when = _NEVER if checked_at is None else checked_at.timestamp()
        if abs(self._now - when) < self._cooldown or self._size <= 0:
            return
        candidate = _Candidate(when, key, of)
        # The least urgent is at the top; -inf negated keeps the order.
        entry = (-when, _Reversed(key), candidate)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, entry)
        elif (when, key) < self._heap[0][2][:2]:
            heapq.heapreplace(self._heap, entry)

    def chosen(self) -> list[tuple[bytes, Of]]:
        """The sample, the most urgent first."""
        return [(each.key, each.of) for each in sorted((c for *_, c in self._heap), key=_urgency)]


class _Reversed:
    """A key that sorts the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: bytes) -> None:
        self.key = key

    def __lt__(self, other: "_Reversed") -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


def _urgency(candidate: _Candidate[Of]) -> tuple[float, bytes]:
    return candidate[:2]


def sample(
    existing: Iterable[bytes],
    last_scrubbed: Mapping[bytes, datetime],
    cooldown: timedelta,
    size: int,
    now: datetime,
) -> list[bytes]:
    """The keys to read next, the most urgent first; the same input gives the same output."""
    sampler: Sampler[None] = Sampler(cooldown, size, now)
    for key in existing:
        sampler.offer(key, last_scrubbed.get(key), None)
    return [key for key, _ in sampler.chosen()]
