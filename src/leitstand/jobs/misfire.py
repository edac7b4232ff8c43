"""Decides what becomes of a due job: what runs now, what was missed, and when it is due next.

A slot that is claimed within the tolerance of its time is late, not missed, and runs. When the
planned slot is older than that, no server was there, and the job's misfire policy decides. Either
way the next time is the first slot in the future: an outage is never worked off one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from leitstand.duration import format_duration
from leitstand.jobs.schedule import Schedule

LONGEST_COUNT = timedelta(days=3653)
"""Missed occurrences are counted over ten years at most, so that a wrong clock costs little."""


class Misfire(StrEnum):
    """What happens to the occurrences that no server was there to start."""

    ONCE = "once"
    """The newest one runs at once, the others are missed."""
    SKIP = "skip"
    """All are missed; only one that has just come due runs."""
    ALL = "all"
    """The newest ones run, as many as the job's limit; the others are missed."""


@dataclass(frozen=True)
class Missed:
    """How many occurrences got no run, and the planned time of the last of them.

    ``exact`` is False when there are more than ``count``: they were not counted to the end.
    """

    count: int
    exact: bool
    last: datetime


@dataclass(frozen=True)
class Due:
    """What follows from a job being due.

    ``run_at`` are the planned times of the occurrences that run now, oldest first. ``reason`` is
    a clause for people: of the missed occurrences if there are any, else of those that run.
    """

    run_at: tuple[datetime, ...]
    next_at: datetime | None
    missed: Missed | None
    first_missed: datetime | None
    reason: str


def next_on_edit(schedule: Schedule, now: datetime) -> datetime | None:
    """When a job that was just saved or enabled is due: the past never runs, and nothing at once.

    None when no time follows, as for a job that runs on request.
    """
    return schedule.next_after(now)


def decide_due(  # noqa: PLR0913, PLR0917 -- six facts, and none of them belongs to another
    planned: datetime,
    now: datetime,
    schedule: Schedule,
    policy: Misfire,
    tolerance: timedelta,
    limit: int,
) -> Due:
    """What becomes of the slots from ``planned``, the job's next time, to ``now``.

    ``planned`` is not after ``now``; it need not be on the schedule's grid (a maintenance window
    may have moved it). ``tolerance`` is a tick plus the grace; ``limit`` is at least 1. Within the
    tolerance every slot runs, up to ``limit``, whatever the policy.
    """
    following = schedule.next_after(planned)
    if following is None or following > now:
        slots, count, exact = [planned], 1, True
    else:
        slots = newest_slots(schedule, planned, now, limit + 1)
        counted = min(now, planned + LONGEST_COUNT)
        count, exact = 1 + schedule.count(planned, counted), counted == now
        following = schedule.next_after(now)
    lateness = now - planned
    if policy is Misfire.ALL or lateness <= tolerance:
        running = min(len(slots), limit)
    else:
        running = int(policy is Misfire.ONCE or now - slots[-1] <= tolerance)
    missed = None
    if count > running:
        missed = Missed(count - running, exact, slots[-running - 1])
    return Due(
        run_at=tuple(slots[len(slots) - running :]),
        next_at=following,
        missed=missed,
        first_missed=planned if missed else None,
        reason=_reason(running, count - running, lateness, tolerance),
    )


def newest_slots(
    schedule: Schedule, planned: datetime, now: datetime, limit: int
) -> list[datetime]:
    """The last ``limit`` of ``planned`` and the slots after it up to ``now``, oldest first.

    Looks back from ``now`` twice as far each time, so that the length of an outage costs little.
    """
    span = timedelta(minutes=1)
    while True:
        start = max(planned, now - span)
        slots = list(_slots(schedule, start, now))
        if len(slots) >= limit:
            return slots[-limit:]
        if start == planned:
            return [planned, *slots]
        span *= 2


def _slots(schedule: Schedule, after: datetime, until: datetime) -> Iterator[datetime]:
    slot = schedule.next_after(after)
    while slot is not None and slot <= until:
        yield slot
        slot = schedule.next_after(slot)


def _reason(running: int, missed: int, lateness: timedelta, tolerance: timedelta) -> str:
    late = format_duration(lateness.total_seconds())
    if missed == 0 and lateness <= tolerance:
        return "on time" if lateness < timedelta(seconds=1) else f"late by {late}"
    one = (missed or running) == 1
    they, them = ("it", "it") if one else ("they", "them")
    cause = f"no control server was running when {they} {'was' if one else 'were'} due"
    if missed == 0:
        return f"{cause}; {they} {'runs' if one else 'run'} now, up to {late} late"
    if lateness <= tolerance:
        cause = f"{they} came due faster than the job's occurrences were claimed"
    if running == 0:
        return f"{cause}, and the job's misfire policy is to skip"
    if running == 1:
        return f"{cause}; the one that follows {them} runs"
    return f"{cause}; the {running} that follow {them} run"
