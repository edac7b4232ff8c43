"""Takes a snapshot of directories; what could not be read makes it partial, and marked as such."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_ledger import Record
from leitstand.archive.objects.opening import open_repository
from leitstand.archive.objects.restic import PROBLEMS_KEPT, SHORT, Answer, Message, Restic
from leitstand.archive.objects.restic_errors import RepositoryLockedError, ResticError
from leitstand.archive.objects.snapshot import (
    HOST,
    PARTIAL,
    TAG,
    Snapshot,
    snapshots_in,
)
from leitstand.archive.objects.sources import (
    Dropped,
    Sources,
    checked_sources,
    dropped_sockets,
    name_of,
)

MARK_PATIENCE, MARK_PAUSE = 300.0, 2.0
"""Seconds that another restic gets to let the repository go, and between two looks."""
INCOMPLETE = 3
"""Restic's exit code for a snapshot that lacks what could not be read."""

Report = Callable[[float | None, str], None]
"""Is told per cent (None: unknown) and a few words; from any thread."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Counts:
    """What restic counted; ``data_blobs`` and ``bytes_added`` (unpacked) are those that are new."""

    files_new: int
    files_changed: int
    files_unmodified: int
    data_blobs: int
    bytes_added: int
    bytes_processed: int
    duration: float

    @classmethod
    def parse(cls, summary: Message) -> "Counts":
        """From restic's summary of a backup."""
        return cls(
            files_new=summary.get("files_new", 0),
            files_changed=summary.get("files_changed", 0),
            files_unmodified=summary.get("files_unmodified", 0),
            data_blobs=summary.get("data_blobs", 0),
            bytes_added=summary.get("data_added", 0),
            bytes_processed=summary.get("total_bytes_processed", 0),
            duration=round(summary.get("total_duration", 0.0), 3),
        )

    @property
    def files(self) -> int:
        """All files in the snapshot."""
        return self.files_new + self.files_changed + self.files_unmodified


@dataclass(frozen=True)
class Left:
    """What should be in a snapshot and is not: how much, and what and why (the first hundred)."""

    count: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObjectBackup:
    """A snapshot that was taken; ``dropped`` are sockets, which no backup holds."""

    snapshot: Snapshot
    repository: str
    counts: Counts
    left: Left
    dropped: Dropped
    created: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether something is missing in it."""
        return self.left.count > 0

    def as_dict(self) -> dict[str, Any]:
        """The backup's JSON shape."""
        return {
            "snapshot_id": self.snapshot.id,
            "repository": self.repository,
            "repository_created": self.created,
            "taken_at": self.snapshot.taken_at.isoformat(),
            "paths": list(self.snapshot.paths),
            "state": "partial" if self.is_partial else "complete",
            **vars(self.counts),
            "skipped": self.left.count,
            "problems": list(self.left.problems),
            "dropped": {"count": self.dropped.count, "names": list(self.dropped.names)},
        }


async def back_up_objects(
    directories: Sequence[Path],
    archive: ObjectArchive,
    report: Report = lambda percent, message: None,
    *,
    allow_empty: bool = False,
) -> ObjectBackup:
    """Take one snapshot of all ``directories``; the first makes the repository.

    What cannot be read, or is missing altogether, makes the snapshot partial: it is kept, marked,
    and counts for nothing. Raises what ``checked_sources`` and ``open_repository`` raise,
    ResticError.
    """
    ledger, directory = archive.ledger, archive.repository.directory
    checked_sources(directories, directory, ())  # before a repository is made for nothing
    opened = await open_repository(archive.repository, ledger, create=True)
    formerly = set() if allow_empty else formerly_filled(await ledger.records(opened.id))
    sources = checked_sources(directories, directory, formerly)
    sockets = asyncio.create_task(asyncio.to_thread(dropped_sockets, sources.usable))
    try:
        answer, summary = await _run(opened.restic, sources, len(directories), report)
        dropped = await sockets
    finally:
        sockets.cancel()
    left = _left(answer, sources)
    snapshot, unmarked = await _marked(opened.restic, summary, partial=left.count > 0)
    left = Left(left.count, (*unmarked, *left.problems)[:PROBLEMS_KEPT])
    counts = Counts.parse(summary)
    made = ObjectBackup(snapshot, opened.id, counts, left, dropped, opened.created)
    await ledger.record(opened.id, _record(made, sources))
    return made


def formerly_filled(records: Iterable[Record]) -> set[str]:
    """The sources that were not empty when they were last backed up whole; the oldest first."""
    filled: dict[str, bool] = {}
    for record in records:
        if record.complete:
            filled |= {source: source in record.filled for source in record.sources}
    return {source for source, was_filled in filled.items() if was_filled}


async def _run(
    restic: Restic, sources: Sources, wanted: int, report: Report
) -> tuple[Answer, Message]:
    """Have restic take it; its answer and its summary."""
    summaries: list[Message] = []

    def on_message(message: Message) -> None:
        if message.get("message_type") == "summary":
            summaries.append(message)
        elif message.get("message_type") == "status":
            report(100 * float(message.get("percent_done", 0)), _so_far(message))

    cwd, names = _arguments(sources, wanted)
    tags = [TAG, PARTIAL] if sources.problems else [TAG]
    options = [f"--host={HOST}", *(f"--tag={tag}" for tag in tags)]
    answer = await restic.call(
        "backup", "--json", *options, "--", *names, cwd=cwd, on_message=on_message
    )
    if answer.exit_code not in (0, INCOMPLETE):
        raise restic.failure("backup", answer)
    if not summaries:
        raise ResticError("restic said nothing about the backup", detail=answer.words.text or None)
    return answer, summaries[-1]


def _arguments(sources: Sources, wanted: int) -> tuple[Path, list[str]]:
    """Working directory and names: a single source stands at the top of its snapshot.

    By its name and not as ``.``, of which restic would not keep owner, mode and times.
    """
    if wanted == 1 and sources.usable[0].name:
        return sources.usable[0].parent, [sources.usable[0].name]
    return Path("/"), [str(path) for path in sources.usable]


def _so_far(message: Message) -> str:
    return f"{message.get('files_done', 0)} of {message.get('total_files', 0)} files"


def _left(answer: Answer, sources: Sources) -> Left:
    """Missing sources, and files that could not be read; their paths are relative in some versions.

    Exit code 3 without a word about files is one thing that is missing, too.
    """
    base = _arguments(sources, len(sources.usable) + len(sources.problems))[0]
    said = tuple(
        f"{base / each.item}: {each.message or 'cannot be read'}" for each in answer.words.problems
    )
    if answer.exit_code == INCOMPLETE and not said:
        said = (f"restic left something out: {answer.words.text[-500:]}",)
    count = len(sources.problems) + max(answer.words.count, len(said))
    return Left(count, (*sources.problems, *said)[:PROBLEMS_KEPT])


async def _marked(
    restic: Restic, summary: Message, *, partial: bool
) -> tuple[Snapshot, tuple[str, ...]]:
    """The snapshot that was taken, tagged if it is partial, under the id that it has then.

    And what is to be told if it could not be: the ledger knows it all the same, but a restore
    without a database goes by the tag.
    """
    snapshot = _found(await snapshots_in(restic), summary)
    if not partial or snapshot.is_partial:
        return snapshot, ()
    problem = await _tag(restic, snapshot)
    if problem is None:
        return _found(await snapshots_in(restic), summary), ()
    log.warning("partial snapshot not tagged", snapshot=snapshot.id, problem=problem)
    told = "not marked as partial, so that `restore objects newest` takes it for whole"
    return snapshot, (f"{told}: {problem}",)


async def _tag(restic: Restic, snapshot: Snapshot) -> str | None:
    """Mark it, waiting for others that work on the repository; what kept from it, or None."""
    until = time.monotonic() + MARK_PATIENCE
    while True:
        answer = await restic.call("tag", f"--add={PARTIAL}", snapshot.id, timeout=SHORT)
        if answer.exit_code == 0:
            return None
        error = restic.failure("tag", answer)
        if not isinstance(error, RepositoryLockedError) or time.monotonic() >= until:
            return str(error)
        await asyncio.sleep(MARK_PAUSE)


def _found(snapshots: Sequence[Snapshot], summary: Message) -> Snapshot:
    """By its id, of which old versions tell only the beginning; a new tag gives it another."""
    known = str(summary.get("snapshot_id", "?"))
    for snapshot in reversed(snapshots):
        if snapshot.id.startswith(known) or (snapshot.original or "").startswith(known):
            return snapshot
    raise ResticError(f"the snapshot {known} that restic has just taken is not in the repository")


def _record(made: ObjectBackup, sources: Sources) -> Record:
    return Record(
        snapshot=made.snapshot.id,
        taken_at=made.snapshot.taken_at,
        complete=not made.is_partial,
        files=made.counts.files,
        bytes=made.counts.bytes_processed,
        sources=tuple(map(name_of, sources.usable)),
        filled=sources.filled,
        problems=made.left.problems,
    )
