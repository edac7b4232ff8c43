"""Notes of which restic processes were started here, so that a lock left by one is known as ours.

A note is a file with the process id; it is there before restic begins, since the shell that writes
it becomes restic, and it goes when restic has ended by itself. What a kill leaves behind is a note
whose process is gone: the proof that its lock in the repository is nobody's.
"""

import os
import platform
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

UNNOTED = 97
"""Exit code for a note that could not be written; restic has none of that number."""

_NOTE_AND_BECOME = f'printf %s "$$" >"$0" || exit {UNNOTED}; exec "$@"'


@dataclass(frozen=True)
class Note:
    """A call that did not end by itself: its process id, and when it began."""

    path: Path
    pid: int
    began: datetime


class CallNotes:
    """The notes of one machine in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def new(self) -> Path:
        """Where the next call is to be noted."""
        self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory / f"{platform.node()}.{secrets.token_hex(8)}"

    def abandoned(self) -> list[Note]:
        """The notes of this machine whose process is gone."""
        return [note for note in self._all() if not _runs(note.pid)]

    def _all(self) -> Iterator[Note]:
        for path in self._directory.glob(f"{platform.node()}.*"):
            try:
                pid, began = int(path.read_text()), path.stat().st_mtime
            except (FileNotFoundError, ValueError):  # ended meanwhile, or about to begin
                continue
            yield Note(path, pid, datetime.fromtimestamp(began, UTC))


def noting(note: Path, argv: Sequence[str]) -> list[str]:
    """``argv`` as a command that writes its process id to ``note`` first."""
    return ["/bin/sh", "-c", _NOTE_AND_BECOME, str(note), *argv]


def _runs(pid: int) -> bool:
    """Whether the process is there; another one that got its number counts, to be on the safe side.

    A zombie does not: whoever killed it has not looked yet.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return os.path.exists(f"/proc/{pid}")
    return status not in "ZX"
