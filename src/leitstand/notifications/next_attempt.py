"""Decides whether a delivery that failed is tried again, and when."""

from dataclasses import dataclass

from leitstand.errors import FailureClass
from leitstand.notifications.delivery_error import DeliveryError

SPREAD = 0.2
"""Share of a pause that jitter adds at most."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how soon: attempt n + 1 follows attempt n after n x ``back_off`` seconds.

    ``outage_back_off`` takes its place while the far side is away as a whole.
    """

    max_attempts: int = 5
    back_off: float = 0.2
    outage_back_off: float = 30.0


def pause_before_next(
    attempts: int, max_attempts: int, error: DeliveryError, policy: RetryPolicy, jitter: float
) -> float | None:
    """Seconds until the next attempt, or None when there is none.

    ``attempts`` have been made. ``jitter`` is 0 to 1 and only ever adds: what failed together
    comes back apart, and never before its time. A time that the receiver asked for is kept.
    """
    if error.failure_class is FailureClass.PERMANENT or attempts >= max_attempts:
        return None
    unit = max(policy.back_off, policy.outage_back_off) if error.outage else policy.back_off
    return max(attempts * unit, error.retry_after or 0.0) * (1 + SPREAD * jitter)
