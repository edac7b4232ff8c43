"""Which of the objects that a survey meets are read: all that are due, or the most urgent of them.

Where none has to be left out, reading begins while the survey goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Protocol

from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.sample import Cooldown, Sampler
from leitstand.archive.integrity.work_list import WorkList


class Choice(Protocol):
    """Puts revisions on a work list, in the course of a survey or at its end."""

    def offer(self, revisions: Sequence[Revision], checked_at: Mapping[bytes, float]) -> None:
        """Consider objects; when each key was checked in seconds since 1970, unless never."""

    def survey_ends(self, total: int) -> None:
        """Called when ``total`` objects were offered, and no more are: the list is complete."""


class AllThatAreDue:
    """Everything, page by page, in the order of the survey, but no more than ``size``.

    What came into the table since its rows were counted may be left for the next time.
    """

    def __init__(self, work: WorkList, cooldown: Cooldown, size: int) -> None:
        self._work, self._cooldown, self._room = work, cooldown, size

    def offer(self, revisions: Sequence[Revision], checked_at: Mapping[bytes, float]) -> None:
        """See Choice."""
        if checked_at:
            is_over = self._cooldown.is_over
            revisions = [each for each in revisions if is_over(checked_at.get(each.storage_key))]
        due = revisions[: self._room]
        self._work.add(due)
        self._room -= len(due)

    def survey_ends(self, total: int) -> None:
        """See Choice."""
        self._work.complete()


class MostUrgent:
    """A sample, once all have been seen: ``size`` says how large, of how many objects.

    It is read in order of urgency, or ``by_key`` where all of it is read, which is quicker.
    """

    def __init__(
        self,
        work: WorkList,
        cooldown: Cooldown,
        capacity: int,
        size: Callable[[int], int],
        *,
        by_key: bool,
    ) -> None:
        self._work, self._size, self._by_key = work, size, by_key
        self._sampler: Sampler[Revision] = Sampler(cooldown, capacity)

    def offer(self, revisions: Sequence[Revision], checked_at: Mapping[bytes, float]) -> None:
        """See Choice."""
        for revision in revisions:
            key = revision.storage_key
            self._sampler.offer(key, checked_at.get(key), revision)

    def survey_ends(self, total: int) -> None:
        """See Choice."""
        chosen = [revision for _, revision in self._sampler.take()[: self._size(total)]]
        if self._by_key:
            chosen.sort(key=attrgetter("storage_key"))
        self._work.add(chosen)
        self._work.complete()
