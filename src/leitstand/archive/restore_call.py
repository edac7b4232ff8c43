"""One call of a restore, of whatever: its line in the restore log, and its error for people."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leitstand.archive.restore_log import logged_restore
from leitstand.errors import FailureClass, LeitstandError


class RestoreError(LeitstandError):
    """The restore failed for a reason of the file system; the target is as it was."""

    code = "RESTORE_FAILED"
    failure_class = FailureClass.TRANSIENT


@contextmanager
def restore_call(log: Path, kind: str, source: str, target: Path) -> Iterator[None]:
    """A restore from ``source`` to ``target`` happens in the block; see ``logged_restore``.

    An OSError of the block becomes RestoreError.
    """
    with logged_restore(log, kind, source, target.absolute()):
        try:
            yield
        except OSError as error:
            raise RestoreError(
                f"the restore to {target} failed: {error.strerror}",
                detail=str(error),
                remedy="Look for room and permissions; the target is as it was.",
            ) from error
