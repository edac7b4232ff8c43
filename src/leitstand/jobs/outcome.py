"""Decides what a run that has ended came to; the order of the checks is fixed."""

from dataclasses import dataclass

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Result
from leitstand.jobs.run_status import RunStatus
from leitstand.masking import mask_url

LONGEST_MESSAGE = 2000
"""Characters kept of the text of an error that was not made for people."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended; code, message and class are None where there is nothing to say."""

    status: RunStatus
    error_code: str | None
    error_message: str | None
    failure_class: FailureClass | None


def decide_outcome(cancelled: bool, error: BaseException | None, result: Result | None) -> Outcome:
    """The outcome: cancelled before failed before partly failed before succeeded.

    Cancellation outweighs an error, because whoever cancels wants neither result nor retry, and
    work that is torn down half-way tends to raise. Neither error nor result is a failure: nothing
    counts as success because nothing was there.
    """
    if cancelled:
        return Outcome(RunStatus.CANCELLED, "CANCELLED", "the run was cancelled", None)
    if error is not None:
        return _failed(error)
    if result is None:
        return _execution_failed("the executor ended without a result")
    if result.objects_skipped > 0:
        message = _partial_message(result)
        return Outcome(RunStatus.PARTIAL_FAILURE, "PARTIAL_FAILURE", message, None)
    return Outcome(RunStatus.SUCCEEDED, None, None, None)


def _failed(error: BaseException) -> Outcome:
    if isinstance(error, LeitstandError):
        return Outcome(RunStatus.FAILED, error.code, error.message, error.failure_class)
    return _execution_failed(_describe(error))


def _execution_failed(message: str) -> Outcome:
    return Outcome(RunStatus.FAILED, "EXECUTION_FAILED", message, FailureClass.PERMANENT)


def _describe(error: BaseException) -> str:
    """Type and text of an unknown error; drivers put connection strings into theirs."""
    text = mask_url(str(error)).strip()
    name = type(error).__name__
    return f"{name}: {text}"[:LONGEST_MESSAGE] if text else name


def _partial_message(result: Result) -> str:
    skipped = result.objects_skipped
    message = "1 object was skipped" if skipped == 1 else f"{skipped} objects were skipped"
    return f"{message}: {result.skip_reasons[0]}" if result.skip_reasons else message
