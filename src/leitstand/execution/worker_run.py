"""Has a worker process carry out a run, and makes its words a Result or an error again."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.child import (
    ChildResult,
    ChildSpec,
    LeaseLostError,
    StopReason,
    signal_name,
)
from leitstand.execution.child_handle import ChildHandle, Children
from leitstand.execution.command_environment import run_variables
from leitstand.execution.executor import Reporter, Result, RunFacts
from leitstand.execution.output import KIB, LineSplitter, LogLimits
from leitstand.execution.process import run_child
from leitstand.execution.worker_protocol import (
    MESSAGE_LIMIT,
    LogLine,
    Progress,
    Raised,
    Request,
    Returned,
    decode,
)

COMMAND = (sys.executable, "-u", "-X", "faulthandler", "-m", "leitstand.execution.worker")
"""Unbuffered, so that prints keep their order and are there when it dies; crashes show a trace."""
DETAIL_LIMIT = 4 * KIB


class WorkerDiedError(LeitstandError):
    """A worker process ended without a result: killed, crashed, or out of memory."""

    code = "WORKER_DIED"
    failure_class = FailureClass.TRANSIENT


class WorkerTimeoutError(LeitstandError):
    """A run in a worker process was stopped by its timeout; transient as for commands."""

    code = "TIMEOUT"
    failure_class = FailureClass.TRANSIENT


class Conversation:
    """What one worker says, taken in piece by piece (in the child's thread)."""

    def __init__(self, reporter: Reporter, limits: LogLimits) -> None:
        self.outcome: Returned | Raised | None = None
        self._reporter = reporter
        self._unfinished = bytearray()
        # What is logged and what is printed pass through one splitter, for its limits.
        self._log = LineSplitter(reporter.log, limits)

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the channel; a line longer than any message is cut."""
        *lines, rest = (bytes(self._unfinished) + data).split(b"\n")
        for line in lines:
            self._take(line)
        self._unfinished = bytearray(rest[: MESSAGE_LIMIT + 1])

    def log(self, line: str) -> None:
        """Add a line to the log."""
        self._log.feed(line.encode("utf-8", "backslashreplace") + b"\n")

    def finish(self) -> None:
        """The worker has ended."""
        self._log.finish()

    def _take(self, line: bytes) -> None:
        message = decode(line)
        match message:
            case None:  # printed before the worker had taken its standard output
                self._log.feed(line + b"\n")
            case LogLine(text):
                self.log(text)
            case Progress(percent, words):
                self._reporter.progress(percent, words)
            case _:
                self.outcome = message


async def run_in_worker(  # noqa: PLR0913 - each is a separate fact
    kind: str,
    params: Mapping[str, Any],
    run: RunFacts,
    reporter: Reporter,
    factory: str,
    *,
    children: Children | None = None,
    environment: Mapping[str, str] | None = None,
    grace: float = 20.0,
    limits: LogLimits | None = None,
) -> Result:
    """Carry out a run in a process of its own: its Result, or its error with code and class.

    ``factory`` (``module:function``) makes the executor from ``kind`` over there. ``environment``
    is by default this process's own (a worker is Leitstand itself); the run's variables are added.
    On cancellation the executor is cancelled and has ``grace`` seconds to clean up. Raises
    WorkerDiedError when there is no result, WorkerTimeoutError after ``run.timeout``,
    LeaseLostError when it was killed since nobody vouched for the run.
    """
    conversation = Conversation(reporter, limits or LogLimits())

    def on_start(handle: ChildHandle) -> None:
        if children is not None:
            children.add(run.run_id, handle)

    spec = ChildSpec(
        argv=COMMAND,
        env={**(os.environ if environment is None else environment), **run_variables(run)},
        stdin=Request(factory, kind, params, run).encoded(),
        timeout=run.timeout,
        grace=grace,
    )
    child = await run_child(
        spec,
        on_line=conversation.log,
        on_stdout=conversation.feed,
        on_start=on_start,
        limits=limits,
    )
    conversation.finish()
    return result_of(conversation.outcome, child, kind, run.timeout)


def result_of(
    outcome: Returned | Raised | None, child: ChildResult, kind: str, timeout: float | None
) -> Result:
    """What a worker's end means: a result counts however the process ended, and an error unless
    it came of the timeout."""
    if isinstance(outcome, Returned):
        return outcome.result
    detail = child.output.text()[-DETAIL_LIMIT:].strip() or None
    if child.timed_out:
        raise WorkerTimeoutError(
            f"the run of {kind} did not end within its timeout of {timeout:g} s and was stopped",
            detail=detail,
            remedy="Raise the job's timeout, or find out what it waits for.",
        )
    if outcome is not None:
        raise outcome.error
    if child.stop is not StopReason.NONE:
        raise LeaseLostError(
            f"the run of {kind} was killed: its lease could not be renewed in time"
        )
    raise WorkerDiedError(
        f"the process that ran {kind} {_manner(child)} before it had a result",
        detail=detail,
        remedy="Look at the system's log: memory may have run out.",
    )


def _manner(child: ChildResult) -> str:
    if child.spawn_failure is not None:
        return f"could not be started ({child.spawn_failure.reason})"
    if child.signal is not None:
        return f"was killed by {signal_name(child.signal)}"
    return f"ended with exit status {child.exit_code}"
