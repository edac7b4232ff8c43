"""Carries out one claimed run: checks before the start, executes, decides how it ended."""

import random
from dataclasses import replace

import structlog

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import (
    Children,
    Ending,
    HaltReason,
    Kinds,
    Reporter,
    Result,
    RunFacts,
    WorkerCall,
    ending_of,
    execute,
)
from leitstand.jobs.claimed_run import ClaimedRun
from leitstand.jobs.dependencies import unsatisfied
from leitstand.jobs.finished_run import FinishedRun
from leitstand.jobs.outcome import decide_outcome
from leitstand.jobs.queue import Queue
from leitstand.jobs.retry import RetryPolicy, decide
from leitstand.jobs.run import StartedRun
from leitstand.jobs.run_reporter import ReportWriter
from leitstand.jobs.run_status import RunStatus

log = structlog.get_logger(__name__)

LAST_WORDS = 1.0
"""Seconds for the end of a run's log when its server ends: it has no time for a slow database."""


class JobUnreadableError(LeitstandError):
    """The job of a run is gone or cannot be read."""

    code = "JOB_UNREADABLE"
    failure_class = FailureClass.TRANSIENT


class LeaseExpiredError(LeitstandError):
    """The run was stopped because its lease expired, or was about to."""

    code = "LEASE_EXPIRED"
    failure_class = FailureClass.TRANSIENT


class Runner:
    """Carries out claimed runs; several at a time, each in a task of its own."""

    def __init__(
        self,
        kinds: Kinds,
        queue: Queue,
        reports: ReportWriter,
        in_worker: WorkerCall,
        children: Children,
    ) -> None:
        self.children = children
        self._kinds = kinds
        self._queue = queue
        self._reports = reports
        self._in_worker = in_worker

    async def carry_out(self, held: ClaimedRun) -> FinishedRun:
        """Do the work and return how it ended; raises nothing but what is a bug here.

        Cancellation of the surrounding task ends the run as ``held.stop_reason`` says.
        """
        reporter = self._reports.open(held.lease)
        try:
            ending = await ending_of(self._execute(held.started, reporter))
        finally:
            held.ended()
        ends = held.stop_reason is HaltReason.SHUTDOWN
        await self._reports.close(reporter, LAST_WORDS if ends else None)
        jitter = random.random()  # noqa: S311 -- not a secret
        finished = finish(held.started, ending, held.stop_reason, jitter)
        tell(held.started, finished)
        return finished

    async def _execute(self, started: StartedRun, reporter: Reporter) -> Result:
        await check_start(self._queue, started)
        facts = facts_of(started)
        return await execute(self._kinds, self._in_worker, started.params, facts, reporter)


async def check_start(queue: Queue, started: StartedRun) -> None:
    """What must be so right before a start: raises the error with which the run ends otherwise."""
    if not started.job_found:
        raise JobUnreadableError(f"the job {started.job!r} no longer exists")
    if started.depends_on:
        outcomes = await queue.dependency_outcomes(started.depends_on)
        if error := unsatisfied(outcomes):
            raise error


def tell(started: StartedRun, finished: FinishedRun) -> None:
    """Log how a run ended, unless it went well: of that the history tells."""
    outcome = finished.outcome
    if outcome.status is not RunStatus.SUCCEEDED:
        log.warning(
            "run ended",
            run=started.lease.run_id,
            job=started.job,
            status=outcome.status.value,
            code=outcome.error_code,
            message=outcome.error_message,
        )


def facts_of(started: StartedRun) -> RunFacts:
    """What the executor may know about its run."""
    return RunFacts(
        run_id=started.lease.run_id,
        job=started.job,
        kind=started.kind,
        attempt=started.attempt,
        correlation_id=str(started.correlation_id),
        scheduled_at=started.scheduled_at,
        fencing_token=started.lease.fencing_token,
        timeout=started.timeout,
        event=started.event,
    )


def finish(
    started: StartedRun,
    ending: Ending,
    halted: HaltReason | None,
    jitter: float,
    by: str = "control server",
) -> FinishedRun:
    """The outcome of a run and what follows from it; ``jitter`` is 0 to 1, ``by`` carried it out.

    ``halted`` says why it was cancelled, if it was.
    """
    if ending.error is not None and halted in {HaltReason.PERSON, HaltReason.SHUTDOWN}:
        ending = Ending(cancelled=True)  # what is torn down half-way tends to raise
    if ending.cancelled and halted is HaltReason.LEASE_LOST:
        # Nobody asked for this end, so it is a failure that the job's policy may try again.
        ending = Ending(error=LeaseExpiredError(f"the {by} could not vouch for the run any more"))
    outcome = decide_outcome(ending.cancelled, ending.error, ending.result)
    error = ending.error
    finished = FinishedRun(
        started.lease,
        outcome,
        ending.result,
        error_detail=error.detail if isinstance(error, LeitstandError) else None,
    )
    if outcome.status is RunStatus.FAILED:
        return _with_retry(finished, started, jitter)
    if ending.cancelled and halted is HaltReason.SHUTDOWN:
        stopped = replace(outcome, error_message=f"the {by} was shut down")
        return replace(finished, outcome=stopped, retry_delay=0.0 if started.resume else None)
    return finished


def _with_retry(finished: FinishedRun, started: StartedRun, jitter: float) -> FinishedRun:
    if not started.job_found:
        return replace(finished, no_retry_reason="the job no longer exists")
    policy = RetryPolicy(max_attempts=started.max_attempts, base=started.backoff)
    failure_class = finished.outcome.failure_class or FailureClass.PERMANENT
    decision = decide(started.failures_before + 1, failure_class, policy, jitter)
    if decision.retry:
        return replace(finished, retry_delay=decision.delay)
    log.info("no retry", run=started.lease.run_id, job=started.job, reason=decision.reason)
    return replace(finished, no_retry_reason=decision.reason)
