"""What is still to be hashed, shared by those who hash and whoever still brings more."""

import threading
from collections.abc import Sequence

from leitstand.archive.integrity.revision import Revision


class WorkList:
    """Objects to be hashed, about in the order in which they were added. From any thread.

    Who finds nothing waits: more may be added, and another may give back what it has taken.
    """

    def __init__(self) -> None:
        self._revisions: list[Revision] = []
        self._at = 0
        self._given_back: list[Sequence[Revision]] = []
        self._out = 0
        self._complete = False
        self._dropped = False
        self._changed = threading.Condition()

    @classmethod
    def of(cls, revisions: Sequence[Revision]) -> "WorkList":
        """A list to which nothing will be added."""
        work = cls()
        work.add(revisions)
        work.complete()
        return work

    @property
    def total(self) -> int | None:
        """How many objects were added in all; None while more may come."""
        return len(self._revisions) if self._complete else None

    def add(self, revisions: Sequence[Revision]) -> None:
        """Append more."""
        with self._changed:
            self._revisions += revisions
            self._changed.notify_all()

    def complete(self) -> None:
        """Nothing more will be added."""
        with self._changed:
            self._complete = True
            self._changed.notify_all()

    def take(self, count: int) -> Sequence[Revision]:
        """The next ones, at most ``count``; ``give_back`` must follow. Empty: all are done."""
        with self._changed:
            self._changed.wait_for(self._is_decided)
            taken = () if self._dropped else self._next(count)
            self._out += bool(taken)
            return taken

    def give_back(self, rest: Sequence[Revision]) -> None:
        """What was taken has been done but for ``rest``."""
        with self._changed:
            self._out -= 1
            if rest:
                self._given_back.append(rest)
            self._changed.notify_all()

    def drop(self) -> None:
        """Nothing more is to be taken."""
        with self._changed:
            self._dropped = True
            self._changed.notify_all()

    def _is_decided(self) -> bool:
        some = self._given_back or self._at < len(self._revisions)
        return bool(some) or self._dropped or (self._complete and not self._out)

    def _next(self, count: int) -> Sequence[Revision]:
        if self._given_back:
            rest = self._given_back.pop()
            if len(rest) > count:
                self._given_back.append(rest[count:])
            return rest[:count]
        taken = self._revisions[self._at : self._at + count]
        self._at += len(taken)
        return taken
