"""When a delivery that failed is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.notifications.delivery_error import LONGEST_RETRY_AFTER, DeliveryError
from leitstand.notifications.next_attempt import RetryPolicy, pause_before_next

POLICY = RetryPolicy()
HICCUP = DeliveryError("busy")


@pytest.mark.parametrize(("attempts", "pause"), [(1, 0.2), (2, 0.4), (3, 0.6), (4, 0.8), (5, None)])
def test_the_back_off_is_linear_and_ends(attempts: int, pause: float | None) -> None:
    found = pause_before_next(attempts, 5, HICCUP, POLICY, 0.0)
    assert found == (None if pause is None else pytest.approx(pause))


def test_an_outage_lasts_longer_than_a_hiccup() -> None:
    """Case 30: a mail server that is away for half a minute costs one further attempt."""
    away = DeliveryError("away", outage=True)
    assert pause_before_next(1, 5, away, POLICY, 0.0) == 30.0
    assert pause_before_next(3, 5, away, POLICY, 0.0) == 90.0


def test_a_permanent_error_is_the_last() -> None:
    assert pause_before_next(1, 5, DeliveryError("no", permanent=True), POLICY, 0.5) is None


def test_what_the_receiver_asked_for_is_kept_and_bounded() -> None:
    """Case 36: not before 120 s, and nobody has us wait for days."""
    asked = DeliveryError("429", retry_after=120)
    assert pause_before_next(1, 5, asked, POLICY, 0.0) == 120
    assert DeliveryError("429", retry_after=1e9).retry_after == LONGEST_RETRY_AFTER


@given(st.integers(1, 4), st.floats(0, 1), st.booleans(), st.floats(0, 5000))
def test_jitter_only_ever_adds(
    attempts: int, jitter: float, outage: bool, retry_after: float
) -> None:
    error = DeliveryError("x", outage=outage, retry_after=retry_after)
    least = pause_before_next(attempts, 5, error, POLICY, 0.0)
    found = pause_before_next(attempts, 5, error, POLICY, jitter)
    assert least is not None
    assert found is not None
    assert least <= found <= least * 1.2 + 1e-9
    assert found >= (error.retry_after or 0)
