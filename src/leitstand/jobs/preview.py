"""Shows when a job will run next, and why it then runs at another time than its schedule's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from leitstand.jobs.job import Job
from leitstand.jobs.schedule import Schedule, build_schedule
from leitstand.jobs.splay import splay_offset
from leitstand.jobs.window import Window
from leitstand.jobs.window_rule import Allowed, next_allowed, waits_in_vain


@dataclass(frozen=True)
class Occurrence:
    """A time to come: as the schedule plans it, and the earliest start.

    ``start_at`` is None for one that waits for a window of which nothing is known yet. ``moved``
    says why start and plan differ, if they do. ``merged`` further slots are part of the same run.
    """

    planned_at: datetime
    start_at: datetime | None
    moved: str | None = None
    merged: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape of ``job next``."""
        return {
            "planned_at": self.planned_at,
            "start_at": self.start_at,
            "moved": self.moved,
            "merged": self.merged,
        }


def preview(
    job: Job, now: datetime, count: int, windows: Sequence[Window] = ()
) -> list[Occurrence]:
    """The next ``count`` occurrences after ``now``, as ``windows`` move and merge them.

    Fewer when the schedule ends before, or when one waits for a window of which nothing is known.
    """
    schedule = build_schedule(job.trigger, job.anchor)
    return list(islice(_occurrences(job, schedule, now, windows), count))


def _occurrences(
    job: Job, schedule: Schedule, now: datetime, windows: Sequence[Window]
) -> Iterator[Occurrence]:
    planned = job.next_run_at if job.enabled else schedule.next_after(now)
    if job.enabled and job.postponed_from is not None:
        # Windows may have changed since it was moved.
        seen = max(now, planned or now)
        allowed = next_allowed(seen, job, windows)
        why = next_allowed(job.postponed_from, job, windows).reason
        if waits_in_vain(job, allowed):
            yield Occurrence(job.postponed_from, None, allowed.reason)
            return
        yield _moved(job, schedule, job.postponed_from, replace(allowed, reason=why), windows)
        planned = schedule.next_after(allowed.at)
    offset = timedelta(seconds=splay_offset(job.name, job.splay))
    while planned is not None:
        allowed = next_allowed(max(now, planned + offset), job, windows)
        if waits_in_vain(job, allowed):
            yield Occurrence(planned, None, allowed.reason)
            return
        if allowed.moved:
            yield _moved(job, schedule, planned, allowed, windows)
            planned = schedule.next_after(allowed.at)
        else:
            yield Occurrence(planned, planned + offset, _not_moved(allowed, offset))
            planned = schedule.next_after(planned)


def _moved(
    job: Job, schedule: Schedule, planned: datetime, allowed: Allowed, windows: Sequence[Window]
) -> Occurrence:
    """As the scheduler starts it: after its splay, unless that leads into the next window."""
    spread = allowed.at + timedelta(seconds=splay_offset(job.name, job.splay))
    start = allowed.at if next_allowed(spread, job, windows).moved else spread
    merged = schedule.count(planned, allowed.at)
    return Occurrence(planned, start, f"postponed {allowed.reason}".strip(), merged)


def _not_moved(allowed: Allowed, offset: timedelta) -> str | None:
    if not allowed.found:
        return f"{allowed.reason}; the planned time is kept"
    return "splay" if offset else None
