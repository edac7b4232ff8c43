"""Runs a child process under a guard, for the event loop."""

import asyncio
import threading
from collections.abc import Callable

from leitstand.execution.child import ChildError, ChildResult, ChildSpec
from leitstand.execution.child_handle import ChildHandle
from leitstand.execution.output import LogLimits
from leitstand.execution.pump import Intake, OnLine, OnStdout, Pump


async def run_child(
    spec: ChildSpec,
    *,
    on_line: OnLine = lambda line: None,
    on_stdout: OnStdout | None = None,
    on_start: Callable[[ChildHandle], None] | None = None,
    limits: LogLimits | None = None,
) -> ChildResult:
    """Run a command to its end and return how it ended; no descendant of it is left then.

    ``on_line`` gets standard output and error, in their order and in lines, bounded by ``limits``
    (a True in return: not a log line, does not count). With ``on_stdout`` standard output goes
    there instead, raw and unbounded. Both are called from a thread of the child's own, and may
    block: that slows the child down and nobody else. ``on_start`` gets the handle before the
    process exists.

    Cancellation stops the child (SIGTERM, grace, SIGKILL) and is re-raised when all of it is gone,
    ten seconds after the grace at the latest; a second one kills at once. Raises ValueError for a
    command that no system could start, ChildError when the system is out of processes, descriptors
    or memory or when the guard was killed.
    """
    spec.encoded()  # raises now rather than in the thread
    loop = asyncio.get_running_loop()
    done: asyncio.Future[ChildResult] = loop.create_future()
    handle = ChildHandle(spec.grace)
    pump = Pump(spec, handle, Intake(on_line, on_stdout, limits or LogLimits()))
    try:
        if on_start is not None:
            on_start(handle)
        threading.Thread(target=_run_pump, args=(pump, loop, done), daemon=True).start()
    except BaseException as error:
        handle.close_guard_end()
        handle.close()
        if isinstance(error, RuntimeError):
            raise ChildError("no thread could be started for a child process") from error
        raise
    await _end_of(done, handle)
    return done.result()


async def _end_of(done: asyncio.Future[ChildResult], handle: ChildHandle) -> None:
    """Wait for the child's end also when cancelled, which is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.wait((done,))
        except asyncio.CancelledError as error:
            stop = handle.terminate if cancelled is None else handle.kill_now
            stop()
            cancelled = cancelled or error
    if cancelled is not None:
        done.exception()  # seen: the cancellation outweighs it
        raise cancelled


def _run_pump(
    pump: Pump, loop: asyncio.AbstractEventLoop, done: asyncio.Future[ChildResult]
) -> None:
    try:
        result = pump.run()
    except BaseException as error:  # whatever it is belongs to the one who awaits
        _hand_over(loop, done.set_exception, error)
    else:
        _hand_over(loop, done.set_result, result)


def _hand_over(loop: asyncio.AbstractEventLoop, setter: Callable[..., None], value: object) -> None:
    try:
        loop.call_soon_threadsafe(setter, value)
    except RuntimeError:  # the loop is closed: nobody waits any more
        pass
