"""Carries out one claimed run: checks before the start, executes, decides how it ended."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import (
    Children,
    Executor,
    Isolation,
    Kinds,
    Params,
    Reporter,
    Result,
    RunFacts,
)
from leitstand.jobs.dependencies import unsatisfied
from leitstand.jobs.held_run import HeldRun, StopReason
from leitstand.jobs.outcome import decide_outcome
from leitstand.jobs.queue import FinishedRun, Queue
from leitstand.jobs.retry import RetryPolicy, decide
from leitstand.jobs.run import StartedRun
from leitstand.jobs.run_reporter import ReportWriter
from leitstand.jobs.run_status import RunStatus

log = structlog.get_logger(__name__)

WorkerCall = Callable[[str, Mapping[str, Any], RunFacts, Reporter], Awaitable[Result]]
"""Carries out a WORKER-isolated kind in a process of its own: (kind, params, run, reporter)."""


LAST_WORDS = 1.0
"""Seconds for the end of a run's log when its server ends: it has no time for a slow database."""

BACKSTOP = 60.0
"""Seconds after a child's timeout, its grace included, until it counts as hanging."""


class JobUnreadableError(LeitstandError):
    """The job of a run is gone or cannot be read."""

    code = "JOB_UNREADABLE"
    failure_class = FailureClass.TRANSIENT


class RunTimeoutError(LeitstandError):
    """The run took longer than its job allows."""

    code = "TIMEOUT"
    failure_class = FailureClass.TRANSIENT


class LeaseExpiredError(LeitstandError):
    """The run was stopped because its lease expired, or was about to."""

    code = "LEASE_EXPIRED"
    failure_class = FailureClass.TRANSIENT


@dataclass(frozen=True)
class Ending:
    """What came out of a run, before anything is decided about it."""

    cancelled: bool = False
    error: Exception | None = None
    result: Result | None = None


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

    async def carry_out(self, held: HeldRun) -> FinishedRun:
        """Do the work and return how it ended; raises nothing but what is a bug here.

        Cancellation of the surrounding task ends the run as ``held.stop_reason`` says.
        """
        reporter = self._reports.open(held.lease)
        try:
            ending = Ending(result=await self._execute(held.started, reporter))
        except asyncio.CancelledError:
            ending = Ending(cancelled=True)
        except Exception as error:  # whatever an executor raises is the run's outcome
            ending = Ending(error=error)
        finally:
            held.ended()
        ends = held.stop_reason is StopReason.SHUTDOWN
        await self._reports.close(reporter, LAST_WORDS if ends else None)
        finished = finish(held, ending, random.random())  # noqa: S311 -- jitter, not a secret
        tell(held.started, finished)
        return finished

    async def _execute(self, started: StartedRun, reporter: Reporter) -> Result:
        if not started.job_found:
            raise JobUnreadableError(f"the job {started.job!r} no longer exists")
        if started.depends_on:
            outcomes = await self._queue.dependency_outcomes(started.depends_on)
            if error := unsatisfied(outcomes):
                raise error
        executor = self._kinds.executor(started.kind)
        params = self._kinds.check(started.kind, started.params)
        try:
            async with asyncio.timeout(patience(executor.isolation, started.timeout)) as limit:
                return await self._call(executor, params, started, reporter)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RunTimeoutError(
                f"the run took longer than {started.timeout:g} s",
                remedy="Raise the job's timeout, or find out what it waits for.",
            ) from error

    async def _call(
        self, executor: Executor[Any], params: Params, started: StartedRun, reporter: Reporter
    ) -> Result:
        facts = facts_of(started)
        if executor.isolation is Isolation.WORKER:
            return await self._in_worker(executor.kind, started.params, facts, reporter)
        return await executor.execute(params, facts, reporter)


def patience(isolation: Isolation, timeout: float | None) -> float | None:
    """Seconds until the runner itself ends a run.

    Child processes and workers are ended by their own supervisor, which knows what they said last;
    here only a supervisor that hangs is caught.
    """
    if timeout is None or isolation is Isolation.INLINE:
        return timeout
    return timeout + BACKSTOP


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


def finish(held: HeldRun, ending: Ending, jitter: float) -> FinishedRun:
    """The outcome of a run and what follows from it; ``jitter`` is 0 to 1."""
    if ending.cancelled and held.stop_reason is StopReason.LEASE_LOST:
        # Nobody asked for this end, so it is a failure that the job's policy may try again.
        ending = Ending(error=LeaseExpiredError("this server could not vouch for the run any more"))
    outcome = decide_outcome(ending.cancelled, ending.error, ending.result)
    error = ending.error
    finished = FinishedRun(
        held.lease,
        outcome,
        ending.result,
        error_detail=error.detail if isinstance(error, LeitstandError) else None,
    )
    if outcome.status is RunStatus.FAILED:
        return _with_retry(finished, held.started, jitter)
    if ending.cancelled and held.stop_reason is StopReason.SHUTDOWN:
        resume = held.started.resume
        stopped = replace(outcome, error_message="the control server was shut down")
        return replace(finished, outcome=stopped, retry_delay=0.0 if resume else None)
    return finished


def _with_retry(finished: FinishedRun, started: StartedRun, jitter: float) -> FinishedRun:
    if not started.job_found:
        return replace(finished, no_retry_reason="the job no longer exists")
    policy = RetryPolicy(max_attempts=started.max_attempts, base=started.backoff)
    failure_class = finished.outcome.failure_class or FailureClass.PERMANENT
    decision = decide(started.attempt, failure_class, policy, jitter)
    if decision.retry:
        return replace(finished, retry_delay=decision.delay)
    log.info("no retry", run=started.lease.run_id, job=started.job, reason=decision.reason)
    return replace(finished, no_retry_reason=decision.reason)
