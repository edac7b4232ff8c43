"""The process that carries out one run of a WORKER-isolated executor and then ends.

Started as ``python -m leitstand.execution.worker`` under a guard. Standard input holds the Request;
messages go to what standard output is at the start, and anything that prints goes to standard
error, which the server takes for log lines.
"""

import asyncio
import importlib
import os
import signal
import sys
import threading
import traceback
from typing import Any

from leitstand.errors import LeitstandError
from leitstand.execution.executor import Executor
from leitstand.execution.interruption import Interrupted, cancel_when_terminated
from leitstand.execution.worker_protocol import (
    LogLine,
    Message,
    Progress,
    Raised,
    Request,
    Returned,
    encode,
)

EXIT_PATIENCE = 30
"""Seconds that closing down may take once the result has been sent (a thread may hang)."""


class Channel:
    """Sends messages; also the Reporter of the executor. Any thread may use it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Write one message; waits while the server is slower."""
        data = encode(message)
        with self._lock:
            while data:
                data = data[os.write(self._fd, data) :]

    def log(self, line: str) -> None:
        """See Reporter."""
        for part in line.splitlines() or [""]:
            self.send(LogLine(part))

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """See Reporter."""
        self.send(Progress(percent, message))


def take_standard_output() -> Channel:
    """Keep standard output for messages and let every print go to standard error."""
    channel = Channel(os.dup(1))  # not inherited by what the executor starts
    os.dup2(2, 1)
    return channel


def executor_of(factory: str, kind: str) -> Executor[Any]:
    """Call ``module:function`` with the kind."""
    module, _, function = factory.partition(":")
    made: Executor[Any] = getattr(importlib.import_module(module), function)(kind)
    return made


async def carry_out(request: Request, channel: Channel) -> Message:
    """Execute and return the message to end with; SIGTERM cancels the executor."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine that runs has a task
    cancel_when_terminated(task)
    executor = executor_of(request.factory, request.kind)
    params = executor.params.model_validate(dict(request.params))
    return Returned(await executor.execute(params, request.run, channel))


async def answer(request: Request, channel: Channel) -> None:
    """Carry out and send the outcome; nothing when cancelled, since then nobody wants it."""
    try:
        channel.send(await carry_out(request, channel))
    except LeitstandError as error:
        channel.send(Raised(error))
    except Exception as error:  # the contract: any other exception ends the run like this
        channel.send(Raised(unexpected(error)))
    signal.alarm(EXIT_PATIENCE)


def unexpected(error: Exception) -> LeitstandError:
    """What an exception that no one foresaw becomes."""
    return LeitstandError(
        f"{type(error).__name__}: {error}",
        code="EXECUTION_FAILED",
        detail="".join(traceback.format_exception(error)),
    )


def main() -> None:
    """Serve the one request on standard input."""
    channel = take_standard_output()
    request = Request.decoded(sys.stdin.buffer.read())
    try:
        asyncio.run(answer(request, channel))
    except (asyncio.CancelledError, KeyboardInterrupt, Interrupted):
        pass
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that an executor left behind must not keep the process


if __name__ == "__main__":
    main()
