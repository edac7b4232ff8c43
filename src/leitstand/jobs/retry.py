"""Decides whether a failed run is tried again, after how long, and why."""

from dataclasses import dataclass

from leitstand.duration import format_duration
from leitstand.errors import FailureClass


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how soon; times in seconds.

    ``max_attempts`` may fail. After failure n the next follows after ``base`` x ``factor`` to the
    power n - 1, at most ``cap`` (but never less than ``base``), plus up to ``spread`` times as much
    again.
    """

    max_attempts: int = 3
    base: float = 60.0
    factor: float = 2.0
    cap: float = 3600.0
    spread: float = 0.2


@dataclass(frozen=True)
class RetryDecision:
    """Whether a further attempt follows, ``delay`` seconds from now, and the reason."""

    retry: bool
    delay: float
    reason: str


def decide(
    failures: int, failure_class: FailureClass, policy: RetryPolicy, jitter: float
) -> RetryDecision:
    """What follows an attempt that has just failed, with which ``failures`` (from 1) have.

    An attempt that was stopped counts for nothing here: nothing of it failed. ``jitter`` is 0 to 1
    and only ever adds to the delay: runs that failed together come back apart, and none of them
    before its delay is over.
    """
    if failure_class is FailureClass.PERMANENT:
        return RetryDecision(False, 0.0, "the failure is permanent: trying again cannot help")
    if failures >= policy.max_attempts:
        return RetryDecision(
            False, 0.0, f"{failures} of {policy.max_attempts} attempts failed, none is left"
        )
    delay = back_off(failures, policy) * (1 + policy.spread * jitter)
    return RetryDecision(
        True,
        delay,
        f"{failures} of {policy.max_attempts} attempts failed, this one for a reason that may "
        f"pass; the next follows in {format_duration(delay)}",
    )


def back_off(failures: int, policy: RetryPolicy) -> float:
    """Seconds at least from failure number ``failures`` to the next attempt."""
    try:
        delay = policy.base * policy.factor ** (failures - 1)
    except OverflowError:
        delay = policy.cap
    return max(policy.base, min(policy.cap, delay))
