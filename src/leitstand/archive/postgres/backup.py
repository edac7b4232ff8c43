"""Takes backups: a full one starts a generation, an increment continues the newest.

A backup gets its name only when it is complete: it is written to a temporary name, verified, made
durable with its record, renamed, and the rename made durable. Until then it is no backup to
anybody, and the next one removes it. One process at a time writes to a backup directory.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import structlog

from leitstand.archive.postgres.backup_id import NextId, is_backup_id, next_id
from leitstand.archive.postgres.backup_lock import BackupStorageError, backup_lock, own_like
from leitstand.archive.postgres.basebackup import (
    BackupProgress,
    Basebackup,
    IncrementalNeedsFullError,
    Report,
)
from leitstand.archive.postgres.canary import CanaryChoice
from leitstand.archive.postgres.canary_taking import CanaryTaking
from leitstand.archive.postgres.catalogue import list_generations
from leitstand.archive.postgres.checks import Check, CheckKind, note_check
from leitstand.archive.postgres.config_files import collect
from leitstand.archive.postgres.connection import (
    ServerFacts,
    Source,
    SourceUnfitError,
    require_backup,
    require_increments,
)
from leitstand.archive.postgres.durable import sync_path
from leitstand.archive.postgres.layout import id_names, ids_taken, not_a_directory
from leitstand.archive.postgres.parent import chain_of, find_parent
from leitstand.archive.postgres.rotate import remove_leftovers
from leitstand.archive.postgres.sealing import Identity, Taking, Verifier, bytes_of, seal
from leitstand.archive.postgres.stage import (
    FULL_DIR,
    INCREMENTAL_DIR,
    MANIFEST,
    StageKind,
    StageRecord,
)
from leitstand.store.binaries import Binaries

TEMPORARY = ".tmp-"
"""Prefix of a backup that is not complete."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Repository:
    """From which server to which directory; ``level`` is gzip's, ``scratch`` where WAL is unpacked
    for a while (the system's temporary directory by default), ``canaries`` what the server is asked
    that a copy must answer, too. ``config_files`` are paths on this machine, and ``auto``.
    """

    source: Source
    directory: Path
    binaries: Binaries
    level: int = 1
    scratch: Path | None = None
    canaries: CanaryChoice = field(default_factory=CanaryChoice)
    config_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class BackupResult:
    """A backup that was taken; ``duration`` in seconds, with verification.

    ``full_reason`` says why a full one was taken where an increment was asked for. ``clock_behind``
    (seconds) is set when the clock lies before the newest backup: the id was counted on from it.
    """

    id: str
    generation: str
    kind: StageKind
    parent: str | None
    bytes: int
    started_at: datetime
    finished_at: datetime
    duration: float
    full_reason: str | None = None
    clock_behind: float | None = None

    def as_dict(self) -> dict[str, object]:
        """The result's JSON shape."""
        times = {"started_at": self.started_at, "finished_at": self.finished_at}
        shown = {k: v.isoformat().replace("+00:00", "Z") for k, v in times.items()}
        return {**vars(self), **shown, "kind": self.kind.value}


def take_full(repository: Repository, report: Report | None = None) -> BackupResult:
    """Take a full backup, which starts a new generation.

    Raises SourceUnreachableError, SourceUnfitError, BackupBusyError (another process works there),
    BasebackupError, BackupDamagedError, BackupStorageError; what ``report`` raises ends it, too.
    In all cases nothing of the attempt is left, unless this process is killed.
    """
    with _at_work(repository, "full backup"):
        facts = repository.source.facts()
        require_backup(facts)
        return _full(repository, facts, report or _ignore)


def take_incremental(
    repository: Repository, report: Report | None = None, *, full_if_needed: bool = False
) -> BackupResult:
    """Take an increment to the newest backup, whichever that is.

    Where that is impossible (no generation, a damaged one, another cluster, gaps in the WAL
    summaries) raises IncrementalNeedsFullError, or with ``full_if_needed`` takes a full backup and
    says why in ``full_reason``. Otherwise as ``take_full``.
    """
    report = report or _ignore
    with _at_work(repository, "incremental backup"):
        facts = repository.source.facts()
        require_backup(facts)
        try:
            require_increments(facts)
            return _increment(repository, facts, report)
        except (IncrementalNeedsFullError, SourceUnfitError) as error:
            if not full_if_needed:
                raise
            log.warning("full backup instead of an increment", reason=error.message)
            return _full(repository, facts, report, reason=error.message)


def _full(
    repository: Repository, facts: ServerFacts, report: Report, reason: str | None = None
) -> BackupResult:
    began, name = time.monotonic(), _next_id(repository.directory)
    final = repository.directory / name.id
    if facts.history is None:
        facts = replace(facts, history=repository.source.mark_history())
    with _temporary(final) as generation:
        generation.mkdir(mode=0o700)
        own_like(generation, repository.directory)
        record = _take(repository, generation / FULL_DIR, Identity(name.id, name.id), facts, report)
        note_check(generation, _verified(FULL_DIR))
        _publish(generation, final)
    return _result(record, name, began, reason)


def _increment(repository: Repository, facts: ServerFacts, report: Report) -> BackupResult:
    began, name = time.monotonic(), _next_id(repository.directory)
    generation = find_parent(list_generations(repository.directory), facts, repository.source)
    increments = generation.path / INCREMENTAL_DIR
    if not increments.is_dir():
        increments.mkdir(mode=0o700)
        own_like(increments, generation.path)
        sync_path(generation.path)
    manifest = generation.stages[-1].path / MANIFEST
    identity = Identity(name.id, generation.id, chain_of(generation), manifest)
    with _temporary(increments / name.id) as stage:
        record = _take(repository, stage, identity, facts, report)
        note_check(generation.path, _verified(f"{INCREMENTAL_DIR}/{name.id}"))
        _publish(stage, increments / name.id)
    return _result(record, name, began, None)


def _take(
    repository: Repository,
    stage: Path,
    identity: Identity,
    facts: ServerFacts,
    report: Report,
) -> StageRecord:
    """Copy, verify and seal one stage in the new directory ``stage``."""
    started = datetime.now(UTC)
    copy = Basebackup(
        repository.source,
        stage,
        repository.binaries,
        repository.level,
        identity.parent_manifest,
    )
    asking = CanaryTaking(repository.source, repository.canaries, identity.id)
    before = asking.before()
    copy.run(report)
    finished = datetime.now(UTC)
    taking = Taking(
        started,
        finished,
        facts.version,
        facts.history,
        asking.settled(before),
        collect(repository.source, repository.config_files) if repository.config_files else (),
    )
    total = sum(path.stat().st_size for path in stage.iterdir())
    on_bytes = _verify_counter(report, total)
    verifier = Verifier(repository.binaries, on_bytes, repository.scratch)
    return seal(stage, identity, taking, verifier)


def _verify_counter(report: Report, total: int) -> Callable[[str, int], None]:
    done = 0

    def count(_: str, read: int) -> None:
        nonlocal done
        done += read
        report(BackupProgress("verify", done, total))

    return count


def _next_id(directory: Path) -> NextId:
    found = next_id(datetime.now(UTC), ids_taken(directory))
    if found.clock_behind is not None:
        behind = found.clock_behind.total_seconds()
        log.warning("the clock is behind the newest id", seconds=behind, id=found.id)
    return found


@contextmanager
def _at_work(repository: Repository, purpose: str) -> Iterator[None]:
    """Hold the directory, free of what interrupted backups left."""
    directory = repository.directory
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with backup_lock(directory, purpose):
            _remove_interrupted(directory)
            remove_leftovers(directory)
            yield
    except OSError as error:
        raise BackupStorageError.of(directory, error) from error


def _remove_interrupted(directory: Path) -> None:
    generations = (directory / name for name in id_names(directory))
    increments = (path / INCREMENTAL_DIR for path in generations if not_a_directory(path) is None)
    places = [directory, *(path for path in increments if not_a_directory(path) is None)]
    for place in places:
        for path in place.glob(f"{TEMPORARY}*"):
            if is_backup_id(path.name.removeprefix(TEMPORARY)):
                log.warning("removing an interrupted backup", path=str(path))
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _temporary(final: Path) -> Iterator[Path]:
    """A name beside ``final`` for what is not complete; whatever still has it at the end goes."""
    path = final.with_name(TEMPORARY + final.name)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _publish(temporary: Path, final: Path) -> None:
    sync_path(temporary)
    temporary.rename(final)
    sync_path(final.parent)


def _verified(stage: str) -> Check:
    return Check(datetime.now(UTC), CheckKind.VERIFY, ok=True, stages=(stage,), detail="when taken")


def _result(record: StageRecord, name: NextId, began: float, reason: str | None) -> BackupResult:
    behind = name.clock_behind
    return BackupResult(
        id=record.id,
        generation=record.generation,
        kind=record.kind,
        parent=record.parent.id if record.parent is not None else None,
        bytes=bytes_of(record),
        started_at=record.started_at,
        finished_at=record.finished_at,
        duration=round(time.monotonic() - began, 3),
        full_reason=reason,
        clock_behind=None if behind is None else behind.total_seconds(),
    )


def _ignore(_: BackupProgress) -> None:
    """Nobody wants to know."""
