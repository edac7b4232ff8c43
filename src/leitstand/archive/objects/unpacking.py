"""Brings a snapshot back to a directory, and makes sure that all of it is there."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import structlog

from leitstand.archive.hindrance import obstacle_said, unwritable
from leitstand.archive.objects.restic import Answer, Message, Restic
from leitstand.archive.objects.restic_errors import RepositoryUnwritableError
from leitstand.archive.objects.snapshot import SHOWN, Snapshot
from leitstand.archive.objects.tree_count import TreeCount, counted_in_snapshot
from leitstand.errors import LeitstandError

PROBLEMS_SHOWN = 10
MARK = 8
"""Characters at the end of a fresh directory's name that are only in its own: mkdtemp's."""

log = structlog.get_logger(__name__)

Report = Callable[[float | None, str], None]


class SnapshotDamagedError(LeitstandError):
    """Not all of a snapshot could be brought back."""

    code = "OBJECT_SNAPSHOT_DAMAGED"


@dataclass(frozen=True)
class Unpacked:
    """What came back: ``content`` is the directory that a single source became, or that holds all.

    ``snapshot`` counts what the snapshot holds, with the owners as they were, ``found`` what is
    there now.
    """

    content: Path
    snapshot: TreeCount
    found: TreeCount

    @property
    def owners_lost(self) -> int:
        """Things that belong to somebody else than they did: only root can give files away."""
        return sum((self.snapshot.owners - self.found.owners).values())


async def unpack(
    restic: Restic,
    snapshot: Snapshot,
    room: Path,
    report: Report = lambda percent, message: None,
    timeout: float | None = None,
) -> Unpacked:
    """Restore into the new directory ``room``, read everything back and count it.

    Raises SnapshotDamagedError when anything is missing or wrong, UnwritableError where ``room``
    takes no more, errors of the call, OSError.
    """
    wanted = await counted_in_snapshot(restic, snapshot.id)
    await _restore(restic, snapshot, room, report, timeout)
    found = TreeCount()
    found.add_directory(room)
    if not found.same_content(wanted):
        raise SnapshotDamagedError(
            f"the snapshot {snapshot.id[:SHOWN]} came back incomplete",
            detail=f"in the snapshot: {wanted}; restored: {found}",
        )
    return Unpacked(_content(snapshot, room, wanted), wanted, found)


async def _restore(
    restic: Restic, snapshot: Snapshot, room: Path, report: Report, timeout: float | None
) -> None:
    def on_message(message: Message) -> None:
        if message.get("message_type") == "status":
            report(100 * float(message.get("percent_done", 0)), "restore")

    report(None, "restore")
    watch = _Watch(room)
    arguments = ["restore", snapshot.id, f"--target={room}", "--verify", "--json"]

    async def call(*options: str) -> Answer:
        return await restic.call(
            *arguments, *options, on_message=on_message, hopeless=watch.hopeless, timeout=timeout
        )

    answer = await call(*(["--no-lock"] if _is_read_only(restic) else []))
    if answer.exit_code and isinstance(
        restic.failure("restore", answer), RepositoryUnwritableError
    ):
        log.warning("restored without a lock", repository=restic.repository.shown)
        answer = await call("--no-lock")
    if answer.exit_code == 0 and not answer.words.count:
        return
    if watch.obstacle is not None:
        raise unwritable(room.parents[1], watch.obstacle, watch.said)
    problems = [str(each) for each in answer.words.problems[:PROBLEMS_SHOWN]]
    if problems or answer.words.hopeless or "There were" in answer.words.text:
        raise SnapshotDamagedError(
            f"the snapshot {snapshot.id[:SHOWN]} could not be restored whole",
            detail="\n".join(problems) or answer.words.text[-2000:],
            remedy="leitstand backup objects check --read-data says what is damaged;"
            " try an older snapshot.",
        )
    raise restic.failure("restore", answer)


class _Watch:
    """Hears from restic what is wrong with the place, and that there is no point in going on.

    Only lines that name the place are about it: others are about the repository, or a cache.
    """

    def __init__(self, room: Path) -> None:
        self._mark = room.parent.name[-MARK:]
        self.obstacle: str | None = None
        self.said = ""

    def hopeless(self, line: str) -> bool:
        """Whether the call is to be ended: with a full disk restic would try file after file."""
        full = obstacle_said(line) if self._mark in line else None
        if self._mark in line and self.obstacle is None:
            self.obstacle = full or next((words for words in _TROUBLES if words in line), None)
            self.said = line
        return full is not None or _pack_is_gone(line)


_TROUBLES = (
    "input/output error",
    "file name too long",
    "permission denied",
    "operation not permitted",
    "operation not supported",
    "invalid argument",
    "too many open files",
)
"""What else the system may say of a place: a failing disk, a path that gets too long, a file system
that knows no such names, owners or links. In Go's words, which are the same everywhere."""


def _pack_is_gone(line: str) -> bool:
    """Restic before 0.18 tries for minutes to load a file that is not there."""
    return line.startswith("Load(<data/") and "no such file or directory" in line


def _is_read_only(restic: Restic) -> bool:
    directory = restic.repository.directory
    return directory is not None and not os.access(directory / "locks", os.W_OK)


def _content(snapshot: Snapshot, room: Path, wanted: TreeCount) -> Path:
    """A single source stands at the top by its own name; several by their whole paths.

    The name is compared as restic shows it, since it shows no name that is not UTF-8 as it is.
    """
    names = {PurePosixPath(path).name for path in snapshot.paths}
    top = list(room.iterdir())
    if len(snapshot.paths) == len(top) == 1 and wanted.tops == names and top[0].is_dir():
        return top[0]
    return room
