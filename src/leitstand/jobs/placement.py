"""Decides whether occurrences that are due start now or wait for a window, and which merge."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leitstand.jobs.job_ledger import DueJob
from leitstand.jobs.misfire import Due, newest_slots
from leitstand.jobs.schedule import Schedule
from leitstand.jobs.splay import splay_offset
from leitstand.jobs.window import Window
from leitstand.jobs.window_rule import Allowed, next_allowed, waits_in_vain


@dataclass(frozen=True)
class Start:
    """An occurrence that gets its run; ``not_before`` is the earliest start, after the splay."""

    slot: datetime
    not_before: datetime


@dataclass(frozen=True)
class Waiting:
    """An occurrence that may not start now; ``until`` is None when no end of that is known."""

    slot: datetime
    until: datetime | None
    allowed: Allowed


@dataclass(frozen=True)
class Merged:
    """``count`` slots, from ``first`` to ``last``, that came while the one before them waited."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True)
class Placement:
    """What becomes of a due job; ``next_at`` is when to look at it again.

    ``unheeded`` says that no moment is allowed at all, so that the planned one was kept.
    """

    starts: tuple[Start, ...]
    waiting: Waiting | None
    merged: Merged | None
    next_at: datetime | None
    unheeded: Allowed | None = None


def place(due: DueJob, decision: Due, schedule: Schedule, windows: Sequence[Window]) -> Placement:
    """What becomes of the occurrences that ``decision`` lets run.

    When the first of them may not start, all wait as one, by the slot of the first. Those that
    come due before it starts are merged into it: one run, not one for each.
    """
    if not decision.run_at:
        return Placement((), None, merged_into(due, schedule), decision.next_at)
    offset = timedelta(seconds=splay_offset(due.job.name, due.job.splay))
    start, allowed = _first_start(due, decision.run_at[0] + offset, windows)
    if allowed.moved or waits_in_vain(due.job, allowed):
        return _wait(due, decision, schedule, allowed)
    starts = tuple(
        Start(due.slot_of(planned), start if index == 0 else planned + offset)
        for index, planned in enumerate(decision.run_at)
    )
    unheeded = None if allowed.found else allowed
    return Placement(starts, None, merged_into(due, schedule), decision.next_at, unheeded)


def _first_start(
    due: DueJob, wanted: datetime, windows: Sequence[Window]
) -> tuple[datetime, Allowed]:
    """When the first occurrence would start, and what the windows say to that.

    One that has waited already gives up its splay rather than miss the time between two windows.
    """
    allowed = next_allowed(max(due.now, wanted), due.job, windows)
    if allowed.moved and due.job.postponed_from is not None:
        now = next_allowed(due.now, due.job, windows)
        if not now.moved:
            return due.now, now
    return wanted, allowed


def _wait(due: DueJob, decision: Due, schedule: Schedule, allowed: Allowed) -> Placement:
    slot = due.slot_of(decision.run_at[0])
    until = allowed.at if allowed.found else None
    merged = None if slot == due.job.postponed_from else merged_into(due, schedule)
    return Placement((), Waiting(slot, until, allowed), merged, until or decision.next_at)


def merged_into(due: DueJob, schedule: Schedule) -> Merged | None:
    """The slots that came while the job's occurrence waited; None if there are none."""
    waited_from = due.job.postponed_from
    if waited_from is None:
        return None
    count = schedule.count(waited_from, due.planned)
    first = schedule.next_after(waited_from)
    if count == 0 or first is None:
        return None
    return Merged(first, newest_slots(schedule, first, due.planned, 1)[-1], count)
