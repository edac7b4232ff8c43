"""Whether, when and why a failed run is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.errors import FailureClass
from leitstand.jobs.retry import RetryPolicy, back_off, decide

PERMANENT, TRANSIENT = FailureClass.PERMANENT, FailureClass.TRANSIENT
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 100),
    base=st.floats(0, 1e5),
    factor=st.floats(1, 1e6),
    cap=st.floats(0, 1e5),
    spread=st.floats(0, 1),
)
attempts = st.integers(1, 100)
jitters = st.floats(0, 1)


@given(attempts, policies, jitters)
def test_a_permanent_failure_is_never_tried_again(
    attempt: int, policy: RetryPolicy, jitter: float
) -> None:
    decision = decide(attempt, PERMANENT, policy, jitter)
    assert not decision.retry
    assert "permanent" in decision.reason


@given(attempts, policies, jitters)
def test_no_attempt_is_more_than_allowed(attempt: int, policy: RetryPolicy, jitter: float) -> None:
    decision = decide(attempt, TRANSIENT, policy, jitter)
    assert decision.retry == (attempt < policy.max_attempts)
    assert decision.reason


@given(attempts, policies, jitters)
def test_jitter_only_adds(attempt: int, policy: RetryPolicy, jitter: float) -> None:
    decision = decide(attempt, TRANSIENT, policy, jitter)
    least = back_off(attempt, policy) if decision.retry else 0
    assert least <= decision.delay <= least * (1 + policy.spread) * (1 + 1e-12)


@given(attempts, policies)
def test_back_off_grows_up_to_its_cap(attempt: int, policy: RetryPolicy) -> None:
    delay = back_off(attempt, policy)
    assert policy.base <= delay <= max(policy.base, policy.cap)
    assert delay <= back_off(attempt + 1, policy)


def test_the_default_is_three_attempts_a_minute_and_two_apart() -> None:
    delays = [decide(n, TRANSIENT, RetryPolicy(), 0.0) for n in (1, 2, 3)]
    assert [(d.retry, d.delay) for d in delays] == [(True, 60), (True, 120), (False, 0)]
    assert delays[2].reason == "3 of 3 attempts failed, none is left"


def test_runs_that_failed_together_come_back_apart() -> None:
    """Case 67: 500 runs with a delay of 60 s start spread over 60 to 72 s, none earlier."""
    delays = [decide(1, TRANSIENT, RetryPolicy(), n / 499).delay for n in range(500)]
    assert min(delays) == 60
    assert max(delays) == pytest.approx(72)
    assert len({round(delay, 3) for delay in delays}) == 500


def test_an_overflow_is_the_cap() -> None:
    assert back_off(100, RetryPolicy(factor=1e300)) == 3600
