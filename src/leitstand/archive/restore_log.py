"""The restore log: one JSON line for each call of a restore, however it ended."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from leitstand.archive.restore_target import TargetRefusedError
from leitstand.errors import LeitstandError, NotFoundError, UsageError
from leitstand.masking import mask_url

_NEVER_BEGUN = (TargetRefusedError, NotFoundError, UsageError)


class Terminated(SystemExit):
    """SIGTERM came while a restore was going on."""


@contextmanager
def logged_restore(log: Path, kind: str, source: str, target: Path) -> Iterator[None]:
    """Write exactly one line to ``log`` when the block ends, and let its exception pass.

    ``ok``; ``aborted: …`` when it was refused before anything ran, or interrupted (SIGTERM, too,
    unless somebody else handles it); ``failed: …`` otherwise. Only SIGKILL leaves no line. Raises
    OSError before the block when the log cannot be written: a restore without a trace is none.
    """
    descriptor = _open(log)
    result = "ok"
    try:
        with _sigterm_raises():
            yield
    except BaseException as error:
        result = result_of(error)
        raise
    finally:
        with _sigterm_waits():
            _append(descriptor, kind, source, target, result)
            os.close(descriptor)


def result_of(error: BaseException) -> str:
    """The log's word for how ``error`` ended a restore; one line, without secrets."""
    if isinstance(error, _NEVER_BEGUN):
        return f"aborted: {_one_line(error.message)}"
    if isinstance(error, LeitstandError):
        return f"failed: {_one_line(error.message)}"
    if isinstance(error, Terminated):
        return "aborted: terminated by SIGTERM"
    if not isinstance(error, Exception):
        return f"aborted: {type(error).__name__}"
    return f"failed: {type(error).__name__}: {_one_line(str(error))}"


def _open(log: Path) -> int:
    log.parent.mkdir(parents=True, exist_ok=True)
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)


def _append(descriptor: int, kind: str, source: str, target: Path, result: str) -> None:
    line = {
        "timestamp": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "kind": kind,
        "source": source,
        "target": str(target),
        "result": result,
    }
    os.write(descriptor, json.dumps(line).encode() + b"\n")  # one write: lines do not mix
    os.fsync(descriptor)


def _one_line(text: str) -> str:
    return mask_url(" ".join(text.split()))[:500]


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Make SIGTERM an exception for a while, so that clean-up runs; only where nobody handles it.

    Python delivers signals to the main thread alone; in a worker's thread the worker's own
    cancellation does this.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # the clean-up is not to be interrupted again
        raise Terminated(128 + number)

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _sigterm_waits() -> Iterator[None]:
    """Hold SIGTERM and SIGINT back in this thread while the line is written."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
