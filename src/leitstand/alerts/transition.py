"""Decides what becomes of an alert when its series was looked at, and whether people are told."""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from leitstand.alerts.alert import AlertState, Phase
from leitstand.alerts.rule import AlertSpec
from leitstand.duration import format_duration

GONE_AFTER = timedelta(minutes=5)
"""For how long a series must be missing from a metric that is there, until it counts as gone."""


class Sight(Enum):
    """What was seen of a series."""

    VIOLATES = auto()
    CLEAR = auto()
    BETWEEN = auto()
    """It no longer violates the rule, but is not past ``clear_threshold`` either."""
    MISSING = auto()
    """Its metric is there, without it, or nobody shows that metric any more."""
    UNKNOWN = auto()
    """NaN, or its metric is not there: a target that is down is not a resolved alert."""


class Notice(Enum):
    """What people are told now."""

    FIRING = auto()
    RESOLVED = auto()


class Step(NamedTuple):
    """What follows: the state from now on, what to tell, and why (or why not)."""

    state: AlertState
    notice: Notice | None
    reason: str


def transition(
    rule: AlertSpec, before: AlertState | None, sight: Sight, now: datetime, muted: str | None
) -> Step | None:
    """What follows from ``sight``; None when there is no alert, before or after.

    ``muted`` is why nobody is told that it fires (a silence, a downtime), if anything. Who was told
    that it fires is told that it is over, muted or not.
    """
    if sight is Sight.VIOLATES:
        return _violated(rule, before, now, muted)
    if before is None or before.phase is Phase.RESOLVED:
        return None
    if before.phase is Phase.PENDING and sight is not Sight.UNKNOWN:
        return _cleared(before, now, "it has passed")
    return _calmed(before, sight, now)


def _calmed(before: AlertState, sight: Sight, now: datetime) -> Step:
    match sight:
        case Sight.CLEAR:
            return _cleared(before, now, "the value is well again")
        case Sight.BETWEEN:
            return Step(replace(before, missing_since=None), None, "not past the clear threshold")
        case Sight.MISSING:
            return _missing(before, now)
    return Step(before, None, "no value: what was known is kept")


def _violated(rule: AlertSpec, before: AlertState | None, now: datetime, muted: str | None) -> Step:
    state = _continued(before, now)
    if state.phase is Phase.PENDING:
        held = (now - state.since).total_seconds()
        if held < rule.hold:
            wanted = format_duration(rule.hold)
            return Step(state, None, f"for {format_duration(held)} of {wanted}")
        state = replace(state, phase=Phase.FIRING)
    quiet = muted or _told_lately(rule, state, now)
    if quiet:
        return Step(state, None, quiet)
    reason = "still firing" if state.told else "firing"
    return Step(replace(state, told_at=now), Notice.FIRING, reason)


def _continued(before: AlertState | None, now: datetime) -> AlertState:
    """The episode that goes on, or a new one; the debounce outlives the old."""
    if before is None:
        return AlertState(Phase.PENDING, now)
    if before.phase is Phase.RESOLVED:
        return AlertState(Phase.PENDING, now, told_at=before.told_at)
    if before.phase is Phase.PENDING and before.since > now:  # the clock was set back
        before = replace(before, since=now)
    return replace(before, missing_since=None) if before.missing_since else before


def _told_lately(rule: AlertSpec, state: AlertState, now: datetime) -> str | None:
    """Why people need not be told again now, if so."""
    if state.told and state.acknowledged_at is not None:
        return f"acknowledged by {state.acknowledged_by}"
    if state.told_at is None:
        return None
    wait = max(rule.debounce, rule.repeat or 0.0) if state.told else rule.debounce
    passed = (now - state.told_at).total_seconds()
    if not -wait < passed < wait:  # nobody is kept waiting by a clock that was set back
        return None
    return _told_before(round(max(0.0, passed)), wait)


@lru_cache(maxsize=256)  # thousands of series share these texts
def _told_before(passed: int, wait: float) -> str:
    return f"told {format_duration(passed)} ago; again after {format_duration(wait)}"


def _missing(before: AlertState, now: datetime) -> Step:
    since = min(before.missing_since or now, now)
    if now - since >= GONE_AFTER:
        return _cleared(before, now, "the series is gone")
    return Step(replace(before, missing_since=since), None, "the series is missing")


def _cleared(before: AlertState, now: datetime, reason: str) -> Step:
    state = AlertState(Phase.RESOLVED, now, told_at=before.told_at)
    if before.told:
        return Step(state, Notice.RESOLVED, reason)
    return Step(state, None, f"{reason}; nobody was told that it fired")
