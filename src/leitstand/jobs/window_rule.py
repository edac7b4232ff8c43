"""Decides when a job may start: the maintenance windows that concern it, and its policy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from leitstand.jobs.job import WindowPolicy
from leitstand.jobs.window import Affected, Window

HORIZON = timedelta(days=366)
"""How far ahead an allowed moment is looked for."""


@dataclass(frozen=True)
class Allowed:
    """The first moment from a planned one on at which a job may start, and why it is another.

    ``moved_by`` are the names of the windows that moved it, in the order in which they did; of a
    job that waits for a window, the one that opens. When ``found`` is False no moment within
    ``HORIZON`` is allowed, and ``at`` is the planned one. ``reason`` is a clause for people, empty
    for a moment that was allowed as it was.
    """

    at: datetime
    moved_by: tuple[str, ...] = ()
    found: bool = True
    reason: str = ""

    @property
    def moved(self) -> bool:
        """Whether ``at`` is later than planned."""
        return self.found and bool(self.moved_by)


def next_allowed(t: datetime, job: Affected, windows: Iterable[Window]) -> Allowed:
    """When the job may start if it is planned for ``t``, which is aware; ``at`` is in UTC.

    Windows that do not concern the job count for nothing.
    """
    t = t.astimezone(UTC)
    concerning = [window for window in windows if window.concerns(job)]
    match job.window_policy:
        case WindowPolicy.RUN:
            return Allowed(t)
        case WindowPolicy.POSTPONE:
            return _after_windows(t, concerning)
        case WindowPolicy.ONLY:
            return _within_window(t, concerning)


def waits_in_vain(job: Affected, allowed: Allowed) -> bool:
    """Whether a job that runs inside windows only knows of none that opens.

    Its planned time is kept, but it is no time to start: it waits until such a window is known.
    """
    return job.window_policy is WindowPolicy.ONLY and not allowed.found


def open_windows(t: datetime, job: Affected, windows: Iterable[Window]) -> list[Window]:
    """The windows open at ``t`` that concern the job, whatever its policy makes of them."""
    return [window for window in windows if window.concerns(job) and window.opening.is_open(t)]


def _after_windows(planned: datetime, windows: Sequence[Window]) -> Allowed:
    t = planned
    moved_by: dict[str, None] = {}
    while t - planned <= HORIZON:
        covering = [window for window in windows if window.opening.is_open(t)]
        if not covering:
            return _moved(planned, t, tuple(moved_by), "by")
        moved_by.update(dict.fromkeys(window.name for window in covering))
        ends = [window.opening.next_change(t) for window in covering]
        if None in ends:
            break
        t = max(end for end in ends if end is not None)
    return Allowed(
        planned,
        tuple(moved_by),
        found=False,
        reason=f"no moment within {HORIZON.days} days is outside {_named(tuple(moved_by))}",
    )


def _within_window(planned: datetime, windows: Sequence[Window]) -> Allowed:
    if any(window.opening.is_open(planned) for window in windows):
        return Allowed(planned)
    openings = (
        (opens, window.name)
        for window in windows
        if (opens := window.opening.next_change(planned)) is not None
    )
    at, name = min(openings, default=(None, ""))
    if at is None or at - planned > HORIZON:
        reason = f"no window that it may run in opens within {HORIZON.days} days"
        return Allowed(planned, found=False, reason=reason)
    return _moved(planned, at, (name,), "until")


def _moved(planned: datetime, at: datetime, moved_by: tuple[str, ...], how: str) -> Allowed:
    if at == planned:
        return Allowed(planned)
    preposition = "to" if how == "by" else "opens at"
    reason = f"{how} {_named(moved_by)} {preposition} {at:%Y-%m-%d %H:%M:%S} UTC"
    return Allowed(at, moved_by, reason=reason)


def _named(names: tuple[str, ...]) -> str:
    return ("window " if len(names) == 1 else "windows ") + " and ".join(names)
