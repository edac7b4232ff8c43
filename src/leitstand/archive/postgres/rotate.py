"""Removes the generations that retention gives up, each whole, and tells what it did."""

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog

from leitstand.archive.postgres.backup_id import is_backup_id
from leitstand.archive.postgres.backup_lock import BackupStorageError, backup_lock
from leitstand.archive.postgres.catalogue import Generation, GenerationState, list_generations
from leitstand.archive.postgres.durable import sync_path
from leitstand.archive.postgres.generation_lock import GenerationInUseError, kept_from_readers
from leitstand.archive.postgres.retention import Candidate, Plan, Policy, plan_retention

REMOVED_PREFIX = ".removed-"
"""Of a generation that is being deleted: renamed first, so that no half of it is ever listed."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Failure:
    """A generation that could not be deleted entirely; ``problem`` says where it failed."""

    generation: str
    problem: str


@dataclass(frozen=True)
class Rotation:
    """What a rotation decided and did; sizes in bytes.

    ``removed`` are gone entirely. Those in ``failures`` are listed no more, or still listed if not
    even the rename worked; the next rotation tries again. So it does with those in ``postponed``,
    which somebody verified, drilled or restored just then.
    """

    plan: Plan
    removed: tuple[str, ...]
    failures: tuple[Failure, ...]
    freed: int
    dry_run: bool
    postponed: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The rotation's JSON shape."""
        return {
            "dry_run": self.dry_run,
            "decisions": [decision.as_dict() for decision in self.plan.decisions],
            "removed": list(self.removed),
            "postponed": list(self.postponed),
            "failures": [vars(failure) for failure in self.failures],
            "freed": self.freed,
        }


def rotate(
    directory: Path,
    policy: Policy,
    *,
    dry_run: bool = False,
    report: Callable[[str], None] | None = None,
) -> Rotation:
    """Apply ``policy`` to the generations in ``directory``; with ``dry_run`` only decide.

    ``report`` is told each generation before it is deleted. What cannot be deleted is a failure in
    the result and does not keep the others. Raises RetentionError when nothing would be left,
    BackupBusyError while a backup is taken or another rotation works, BackupStorageError when the
    directory cannot be read or locked.
    """
    try:
        if dry_run or not directory.is_dir():
            return Rotation(_plan(list_generations(directory), policy), (), (), 0, dry_run)
        with backup_lock(directory, "rotation"):
            found = {generation.id: generation for generation in list_generations(directory)}
            plan = _plan(tuple(found.values()), policy)
            return _remove_all(directory, plan, found, report or _ignore)
    except OSError as error:
        raise BackupStorageError.of(directory, error) from error


def remove_leftovers(directory: Path) -> tuple[Failure, ...]:
    """Go on with deletions that were interrupted; hold the lock."""
    failures = []
    for name in sorted(os.listdir(directory)):
        if name.startswith(REMOVED_PREFIX) and is_backup_id(name.removeprefix(REMOVED_PREFIX)):
            problem = _delete(directory / name)
            if problem is not None:
                failures.append(Failure(name.removeprefix(REMOVED_PREFIX), problem))
    return tuple(failures)


def candidate_of(generation: Generation, at: datetime | None = None) -> Candidate:
    """What retention needs to know of ``generation``; drills after ``at`` are left out."""
    complete = generation.state is GenerationState.COMPLETE
    drilled_at = generation.drilled_at
    return Candidate(
        id=generation.id,
        system_identifier=generation.system_identifier,
        started_at=generation.started_at,
        proven=complete and generation.verified_at is not None,
        drilled=complete and drilled_at is not None and (at is None or drilled_at <= at),
    )


def overdue(
    generations: Iterable[Generation], policy: Policy, since: datetime
) -> tuple[Generation, ...]:
    """The generations that are still there and that rotation gave up as of ``since`` already.

    None as long as rotation works: what it gives up it removes, or its run says why it cannot.
    """
    there = tuple(generations)
    then = [
        candidate_of(generation, since)
        for generation in there
        if generation.started_at is not None and generation.started_at <= since
    ]
    given_up = {decision.id for decision in plan_retention(then, policy).removed}
    still = given_up & {decision.id for decision in _plan(there, policy).removed}
    return tuple(generation for generation in there if generation.id in still)


def _plan(generations: tuple[Generation, ...], policy: Policy) -> Plan:
    return plan_retention(map(candidate_of, generations), policy)


def _remove_all(
    directory: Path, plan: Plan, found: dict[str, Generation], report: Callable[[str], None]
) -> Rotation:
    failures = list(remove_leftovers(directory))
    removed, postponed, freed = [], [], 0
    for decision in plan.removed:
        report(decision.id)
        try:
            problem = _remove(directory, decision.id)
        except GenerationInUseError as error:
            log.info("removal postponed", generation=decision.id, reason=error.message)
            postponed.append(decision.id)
            continue
        if problem is not None:
            log.error("generation not removed", generation=decision.id, problem=problem)
            failures.append(Failure(decision.id, problem))
            continue
        log.info("generation removed", generation=decision.id, reasons=decision.reasons)
        removed.append(decision.id)
        freed += found[decision.id].size
    return Rotation(plan, tuple(removed), tuple(failures), freed, False, tuple(postponed))


def _remove(directory: Path, name: str) -> str | None:
    """Rename, then delete; what went wrong, or None. Raises GenerationInUseError."""
    doomed = directory / f"{REMOVED_PREFIX}{name}"
    try:
        with kept_from_readers(directory / name):
            (directory / name).rename(doomed)
            sync_path(directory)
            return _delete(doomed)
    except OSError as error:
        return f"it cannot be opened or renamed: {error.strerror}"


def _delete(doomed: Path) -> str | None:
    """Delete as much as possible; the first thing that could not be deleted, or None.

    A link is unlinked; what it leads to stays.
    """
    if doomed.is_symlink():
        doomed.unlink()
        return None
    problems: list[str] = []

    def note(_: object, path: str, info: tuple[type, BaseException, object]) -> None:
        problems.append(f"{path}: {getattr(info[1], 'strerror', None) or info[1]}")

    shutil.rmtree(doomed, onerror=note)
    return problems[0] if problems else None


def _ignore(_: str) -> None:
    """Nobody wants to know."""
