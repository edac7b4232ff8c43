"""Windows and jobs for tests, in few words, and an oracle that looks at every minute."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from leitstand.jobs import DatedWindow, Job, Overlap, Window, WindowPolicy, parse_window
from leitstand.jobs.misfire import Misfire
from leitstand.jobs.trigger import Trigger, TriggerType

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
MIDNIGHT = time()


@dataclass(frozen=True)
class AnyJob:
    """What windows see of a job."""

    name: str = "job"
    tags: tuple[str, ...] = ()
    host: str | None = None
    window_policy: WindowPolicy = WindowPolicy.POSTPONE


def window(begin: str, end: str, days: str = "", zone: str = "UTC", **fields: Any) -> Window:
    """The window as people would write it."""
    written = {"name": "w", "from": begin, "to": end, "timezone": zone, **fields}
    return parse_window({**written, "days": days} if days else written).window()


def open_by_the_clock(window: Window, t: datetime) -> bool:
    """Whether the window is open at ``t``, told anew from what a clock on the wall shows."""
    opening = window.opening
    if isinstance(opening, DatedWindow):
        return opening.start <= t < opening.end
    shown = t.astimezone(opening.zone)
    for days_ago in (0, 1):
        began = shown.date() - timedelta(days=days_ago)
        if began.weekday() not in opening.days:
            continue
        start = datetime.combine(began, opening.start)
        last_day = began if opening.end > opening.start else began + timedelta(days=1)
        if start <= shown.replace(tzinfo=None) < datetime.combine(last_day, opening.end):
            return True
    return False


def first_allowed_minute(
    t: datetime, policy: WindowPolicy, windows: Iterable[Window], limit: int
) -> datetime | None:
    """The first of the next ``limit`` full minutes at which the policy lets a job start."""
    concerning: Sequence[Window] = list(windows)
    for number in range(limit):
        minute = t + number * MINUTE
        inside = any(open_by_the_clock(each, minute) for each in concerning)
        if inside == (policy is WindowPolicy.ONLY):
            return minute
    return None


def moment(text: str, zone: str = "UTC", fold: int = 0) -> datetime:
    """The moment at which clocks of ``zone`` show ``text``."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


def stored_job(
    schedule: str,
    next_run_at: datetime | None,
    postponed_from: datetime | None = None,
    policy: WindowPolicy = WindowPolicy.POSTPONE,
    splay: float = 0,
) -> Job:
    """A job as it is stored, with a cron schedule in UTC."""
    return Job(
        id=1,
        name="job",
        tenant="main",
        kind="noop",
        params={},
        trigger=Trigger(TriggerType.CRON, schedule, "UTC"),
        anchor=moment("2026-01-01"),
        enabled=True,
        managed=False,
        tags=(),
        host=None,
        runs_on=(),
        priority=0,
        group=None,
        timeout=None,
        depends_on=(),
        max_attempts=3,
        backoff=60,
        misfire=Misfire.ONCE,
        misfire_limit=10,
        overlap=Overlap.SKIP,
        window_policy=policy,
        splay=splay,
        resume=False,
        next_run_at=next_run_at,
        postponed_from=postponed_from,
        schedule_error=None,
        skipped_runs=0,
        last_run_at=None,
        last_outcome=None,
    )
