"""What a run came to: the order of the checks, and the states that follow one another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.errors import FailureClass, UnavailableError
from leitstand.execution.executor import Result
from leitstand.jobs.outcome import LONGEST_MESSAGE, Outcome, decide_outcome
from leitstand.jobs.run_status import FINAL, TRANSITIONS, RunStatus

errors = st.sampled_from([None, ValueError("x"), UnavailableError("the database is away")])
results = st.one_of(st.none(), st.builds(Result, objects_skipped=st.integers(0, 3)))


@given(errors, results)
def test_cancellation_outweighs_everything(error: Exception | None, result: Result | None) -> None:
    outcome = decide_outcome(True, error, result)
    assert outcome == Outcome(RunStatus.CANCELLED, "CANCELLED", "the run was cancelled", None)


@given(results)
def test_an_error_outweighs_any_result(result: Result | None) -> None:
    outcome = decide_outcome(False, UnavailableError("the database is away"), result)
    assert outcome == Outcome(
        RunStatus.FAILED, "UNAVAILABLE", "the database is away", FailureClass.TRANSIENT
    )


def test_an_unknown_error_is_permanent_and_named() -> None:
    outcome = decide_outcome(False, KeyError("x"), None)
    assert outcome.error_code == "EXECUTION_FAILED"
    assert outcome.error_message == "KeyError: 'x'"
    assert outcome.failure_class is FailureClass.PERMANENT
    assert decide_outcome(False, ValueError(), None).error_message == "ValueError"


def test_an_unknown_error_shows_no_password_and_is_kept_short() -> None:
    secret = "cannot connect to postgresql://backup:hunter2@db1/app password=hunter2 " + "x" * 9000
    message = decide_outcome(False, OSError(secret), None).error_message
    assert message is not None
    assert "hunter2" not in message
    assert "db1" in message
    assert len(message) == LONGEST_MESSAGE


@given(st.integers(1, 10**6))
def test_skipped_objects_are_a_partial_failure(skipped: int) -> None:
    """Case 71: a partial failure has no failure class, since nothing about it is tried again."""
    result = Result(objects_processed=5, objects_skipped=skipped, skip_reasons=("b: gone", "c"))
    outcome = decide_outcome(False, None, result)
    assert outcome.status is RunStatus.PARTIAL_FAILURE
    assert outcome.error_code == "PARTIAL_FAILURE"
    assert outcome.failure_class is None
    assert outcome.error_message is not None
    assert str(skipped) in outcome.error_message
    assert "b: gone" in outcome.error_message


def test_a_partial_failure_without_a_reason_has_its_number() -> None:
    outcome = decide_outcome(False, None, Result(objects_skipped=1))
    assert outcome.error_message == "1 object was skipped"


def test_the_rest_succeeded() -> None:
    assert decide_outcome(False, None, Result()) == Outcome(RunStatus.SUCCEEDED, None, None, None)


def test_nothing_is_no_success() -> None:
    outcome = decide_outcome(False, None, None)
    assert outcome.status is RunStatus.FAILED
    assert outcome.failure_class is FailureClass.PERMANENT


@given(st.booleans(), errors, results)
def test_every_outcome_is_final_and_says_why(
    cancelled: bool, error: Exception | None, result: Result | None
) -> None:
    outcome = decide_outcome(cancelled, error, result)
    assert outcome.status in TRANSITIONS[RunStatus.RUNNING]
    assert outcome.status.is_final
    assert (outcome.error_message is None) == (outcome.status is RunStatus.SUCCEEDED)
    assert (outcome.failure_class is not None) == (outcome.status is RunStatus.FAILED)


@pytest.mark.parametrize("status", RunStatus)
def test_final_states_are_those_that_nothing_follows(status: RunStatus) -> None:
    assert status.is_final == (status in FINAL) == (not TRANSITIONS[status])
