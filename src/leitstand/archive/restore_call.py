"""One call of a restore, of whatever: its line in the restore log, and its error for people."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive.hindrance import UnwritableError, obstacle_of, unwritable
from leitstand.archive.restore_log import logged_restore
from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution import Interruptions

_AS_IT_WAS = "The target is as it was."


class RestoreError(LeitstandError):
    """The restore failed for a reason of the file system; the target is as it was."""

    code = "RESTORE_FAILED"
    failure_class = FailureClass.TRANSIENT


@contextmanager
def restore_call(log: Path, kind: str, source: str, target: Path) -> Iterator[Interruptions]:
    """A restore from ``source`` to ``target`` happens in the block; see ``logged_restore``.

    An OSError of the block becomes RestoreError, or UnwritableError where there is no room; that
    names the target, whatever it was that could not be written beside it.
    """
    with logged_restore(log, kind, source, target.absolute()) as interruptions:
        try:
            yield interruptions
        except UnwritableError as error:
            raise _no_room(target, error) from error
        except OSError as error:
            raise _failure(target, error) from error


def _no_room(target: Path, error: UnwritableError) -> UnwritableError:
    return UnwritableError(
        f"the restore to {target} failed: {error.message}",
        detail=error.detail,
        remedy=f"{error.remedy} {_AS_IT_WAS}",
    )


def _failure(target: Path, error: OSError) -> LeitstandError:
    obstacle = obstacle_of(error)
    if obstacle is not None:
        return _no_room(target, unwritable(target.absolute().parent, obstacle, str(error)))
    return RestoreError(
        f"the restore to {target} failed: {error.strerror}",
        detail=str(error),
        remedy=f"Look for room and permissions. {_AS_IT_WAS}",
    )
