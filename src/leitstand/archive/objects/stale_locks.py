"""Removes locks from a repository that calls of our own have left, and no others.

A lock names machine and process. It is provably ours when it names this machine and a process that
a note of ours says we started (call_notes.py), and that process is gone. Restic's own ``unlock``
goes by less: it also removes what is old.
"""

import platform
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from leitstand.archive.objects.call_notes import Note
from leitstand.archive.objects.restic import Restic

log = structlog.get_logger(__name__)

_SLACK = timedelta(seconds=2)
"""Between the clocks of a file system and of a process on one machine."""


@dataclass(frozen=True)
class Lock:
    """A lock in the repository: who took it, and when."""

    id: str
    host: str
    pid: int
    taken_at: datetime

    @classmethod
    def parse(cls, lock_id: str, document: dict[str, Any]) -> "Lock":
        """From what ``restic cat lock`` shows."""
        taken = datetime.fromisoformat(document["time"])
        return cls(lock_id, document["hostname"], int(document["pid"]), taken)

    def left_by(self, note: Note) -> bool:
        """Whether the call of ``note``, which is gone, took it."""
        same = self.host == platform.node() and self.pid == note.pid
        return same and self.taken_at >= note.began - _SLACK


async def remove_own_locks(restic: Restic) -> tuple[Lock, ...]:
    """Remove what our calls that were killed have left; costs nothing where none was.

    In a remote repository they are removed only where no other lock is. Returns the removed ones.
    """
    notes = restic.notes.abandoned()
    if not notes:
        return ()
    locks = await _locks(restic)
    ours = [lock for lock in locks if any(lock.left_by(note) for note in notes)]
    removed = await _remove(restic, ours, others=len(ours) < len(locks))
    for lock in removed:
        log.warning("stale lock removed", lock=lock.id, pid=lock.pid, taken_at=lock.taken_at)
    if len(removed) == len(ours):
        for note in notes:
            note.path.unlink(missing_ok=True)
    return tuple(removed)


async def _locks(restic: Restic) -> list[Lock]:
    listed = await restic.succeed("list", "locks", "--no-lock", "--quiet")
    found = []
    for lock_id in listed.output.decode().split():
        answer = await restic.call("cat", "lock", lock_id, "--no-lock")
        if answer.exit_code == 0:  # else it was removed meanwhile
            found.append(Lock.parse(lock_id, answer.document()))
    return found


async def _remove(restic: Restic, ours: list[Lock], *, others: bool) -> list[Lock]:
    directory = restic.repository.directory
    if directory is not None:
        for lock in ours:
            (directory / "locks" / lock.id).unlink(missing_ok=True)
        return ours
    if others or not ours:
        return []
    await restic.succeed("unlock")
    return ours
