"""Brings a snapshot back to a directory, and makes sure that all of it is there."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from leitstand.archive.objects.restic import Message, Restic
from leitstand.archive.objects.snapshot import SHOWN, Snapshot
from leitstand.archive.objects.tree_count import TreeCount, counted_in_snapshot
from leitstand.errors import LeitstandError

PROBLEMS_SHOWN = 10

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

    Raises SnapshotDamagedError when anything is missing or wrong, errors of the call, OSError.
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
    arguments = ["restore", snapshot.id, f"--target={room}", "--verify", "--json"]
    if _is_read_only(restic):
        arguments.append("--no-lock")
    answer = await restic.call(
        *arguments, on_message=on_message, hopeless=_pack_is_gone, timeout=timeout
    )
    if answer.exit_code == 0 and not answer.words.count:
        return
    problems = [str(each) for each in answer.words.problems[:PROBLEMS_SHOWN]]
    if problems or answer.words.hopeless or "There were" in answer.words.text:
        raise SnapshotDamagedError(
            f"the snapshot {snapshot.id[:SHOWN]} could not be restored whole",
            detail="\n".join(problems) or answer.words.text[-2000:],
            remedy="leitstand backup objects check --read-data says what is damaged;"
            " try an older snapshot.",
        )
    raise restic.failure("restore", answer)


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
