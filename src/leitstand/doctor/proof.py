"""Checks the backups: how old the newest verified one is, whether one was drilled, and what was
promised of recovery."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from leitstand.archive import Drill, Generation, Judgement, Objectives, breaches
from leitstand.doctor.finding import Finding, sound, wrong


def newest_verified(
    generations: Sequence[Generation], now: datetime, promised: Objectives
) -> Finding:
    """A generation that is verified as a whole is not older than its data may be."""
    name = "newest verified backup"
    times = [g.finished_at for g in generations if g.verified_at is not None and not g.findings]
    newest = max((time for time in times if time is not None), default=None)
    if newest is None:
        return wrong(name, "there is none", "leitstand backup postgres full")
    if _over(now - newest, promised.recovery_point):
        return wrong(
            name,
            f"it is {_days(now - newest)} old",
            "See why the backups do not run: leitstand run list --status failed",
        )
    return sound(name)


def last_drill(drills: Sequence[Drill], now: datetime, promised: Objectives) -> Finding:
    """The newest of ``drills`` (newest first) passed, and is not longer ago than it may be."""
    name = "last restore drill"
    if not drills:
        return wrong(name, "no backup was ever proven", "leitstand drill run")
    if not drills[0].success:
        return wrong(
            name,
            f"it failed: {drills[0].detail}",
            "Take a full backup now, and find out what damaged this one.",
        )
    if _over(now - drills[0].timestamp, promised.drill_every):
        return wrong(name, f"it was {_days(now - drills[0].timestamp)} ago", "leitstand drill run")
    return sound(name)


def recovery_objectives(promises: Sequence[Judgement]) -> Finding:
    """Every promise about recovery is kept."""
    name = "recovery objectives"
    broken = [each.sentence for each in breaches(promises)]
    if not broken:
        return sound(name)
    return wrong(
        name,
        "; ".join(broken),
        "See which job of self-protection is disabled or fails (leitstand job list), or promise"
        " something else ([objectives] in the configuration).",
    )


def _over(age: timedelta, promised: float) -> bool:
    return 0 < promised < age.total_seconds()


def _days(age: timedelta) -> str:
    return f"{age / timedelta(days=1):.1f} days"
