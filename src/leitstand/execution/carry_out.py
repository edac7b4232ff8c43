"""Carries out one run whose kind is known here, and catches whatever comes of it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.executor import Isolation, Reporter, Result, RunFacts
from leitstand.execution.kinds import Kinds

WorkerCall = Callable[[str, Mapping[str, Any], RunFacts, Reporter], Awaitable[Result]]
"""Carries out a WORKER-isolated kind in a process of its own: (kind, params, run, reporter)."""

BACKSTOP = 60.0
"""Seconds after a child's timeout, its grace included, until it counts as hanging."""


class RunTimeoutError(LeitstandError):
    """The run took longer than its job allows."""

    code = "TIMEOUT"
    failure_class = FailureClass.TRANSIENT


@dataclass(frozen=True)
class Ending:
    """What came out of a run, before anything is decided about it."""

    cancelled: bool = False
    error: Exception | None = None
    result: Result | None = None


async def ending_of(work: Awaitable[Result]) -> Ending:
    """How ``work`` ended; cancellation of the surrounding task is one of the ways."""
    try:
        return Ending(result=await work)
    except asyncio.CancelledError:
        return Ending(cancelled=True)
    except Exception as error:  # whatever an executor raises is the run's outcome
        return Ending(error=error)


async def execute(
    kinds: Kinds,
    in_worker: WorkerCall,
    params: Mapping[str, Any],
    run: RunFacts,
    reporter: Reporter,
) -> Result:
    """Check the parameters, then do the work where its kind wants it, within the run's timeout.

    Raises NotImplementedKindError, UsageError for the parameters, RunTimeoutError, and whatever
    the executor raises.
    """
    executor = kinds.executor(run.kind)
    checked = kinds.check(run.kind, params)
    try:
        async with asyncio.timeout(patience(executor.isolation, run.timeout)) as limit:
            if executor.isolation is Isolation.WORKER:
                return await in_worker(run.kind, params, run, reporter)
            return await executor.execute(checked, run, reporter)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise RunTimeoutError(
            f"the run took longer than {run.timeout:g} s",
            remedy="Raise the job's timeout, or find out what it waits for.",
        ) from error


def patience(isolation: Isolation, timeout: float | None) -> float | None:
    """Seconds until a run is ended from here.

    Child processes and workers are ended by their own supervisor, which knows what they said last;
    here only a supervisor that hangs is caught.
    """
    if timeout is None or isolation is Isolation.INLINE:
        return timeout
    return timeout + BACKSTOP
