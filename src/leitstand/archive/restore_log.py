"""The restore log: one JSON line for each call of a restore, however it ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import structlog

from leitstand.archive.json_lines import append_line
from leitstand.archive.restore_target import TargetRefusedError
from leitstand.errors import FailureClass, LeitstandError, NotFoundError, UsageError
from leitstand.execution import Interrupted, Interruptions, interruptible
from leitstand.masking import mask_url

_NEVER_BEGUN = (TargetRefusedError, NotFoundError, UsageError)

log = structlog.get_logger(__name__)


class RestoreLogError(LeitstandError):
    """The restore log cannot be written."""

    code = "RESTORE_LOG"
    failure_class = FailureClass.TRANSIENT


@contextmanager
def logged_restore(path: Path, kind: str, source: str, target: Path) -> Iterator[Interruptions]:
    """Write exactly one line to ``path`` when the block ends, and let its exception pass.

    ``ok``; ``aborted: …`` when it was refused before anything ran, or interrupted (SIGTERM and
    SIGHUP, too, unless somebody else handles them); ``failed: …`` otherwise. Only SIGKILL leaves no
    line. The block calls ``no_return`` before it replaces the target.

    Raises RestoreLogError before the block when the log cannot be opened: a restore without a trace
    is none; and after a block without error when the line could not be written.
    """
    descriptor = _open(path)
    result = "ok"
    with interruptible() as interruptions:
        try:
            yield interruptions
        except BaseException as error:
            result = result_of(error)
            raise
        finally:
            interruptions.no_return()
            problem = _append(descriptor, kind, source, target, result)
            os.close(descriptor)
            if problem is not None:
                log.error("restore not logged", path=str(path), result=result, problem=problem)
    if problem is not None:
        raise RestoreLogError(
            f"{target} was restored, but that could not be noted in {path}: {problem}",
            remedy="Make room for the log; the restore need not be repeated.",
        )


def result_of(error: BaseException) -> str:
    """The log's word for how ``error`` ended a restore; one line, without secrets."""
    if isinstance(error, _NEVER_BEGUN):
        return f"aborted: {_one_line(error.message)}"
    if isinstance(error, LeitstandError):
        return f"failed: {_one_line(error.message)}"
    if isinstance(error, Interrupted):
        return f"aborted: terminated by {error.signal}"
    if not isinstance(error, Exception):
        return f"aborted: {type(error).__name__}"
    return f"failed: {type(error).__name__}: {_one_line(str(error))}"


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
    except OSError as error:
        raise RestoreLogError(
            f"the restore log {path} cannot be opened: {error.strerror}",
            remedy="Nothing was restored, since none goes without a trace. Make it writable, or set"
            " backup.postgres.restore_log.",
        ) from error


def _append(descriptor: int, kind: str, source: str, target: Path, result: str) -> str | None:
    """Write the line; what went wrong, or None."""
    line = {
        "timestamp": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "kind": kind,
        "source": source,
        "target": str(target),
        "result": result,
    }
    try:
        append_line(descriptor, line)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _one_line(text: str) -> str:
    return mask_url(" ".join(text.split()))[:500]
