"""Verifies generations and notes in each what came out."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import structlog

from leitstand.archive.drills import drill_room
from leitstand.archive.postgres.catalogue import list_generations, newest_of
from leitstand.archive.postgres.checks import CHECKS, Check, CheckKind, note_check
from leitstand.archive.postgres.finding import Finding, FindingKind
from leitstand.archive.postgres.generation_lock import in_use
from leitstand.archive.postgres.layout import (
    generation_path,
    no_such_generation,
    not_a_directory,
)
from leitstand.archive.postgres.verify import Report, Verdict, verify_generation
from leitstand.archive.settings import ArchiveSettings, no_generation
from leitstand.errors import LeitstandError, NotFoundError
from leitstand.store.account import server_account

ALL = "all"
NEWEST = "newest"

log = structlog.get_logger(__name__)


def verify_chosen(
    archive: ArchiveSettings, choice: str, report: Report | None = None
) -> list[Verdict]:
    """Verify what ``choice`` means (an id, ``newest`` or ``all``), the oldest first.

    None of them is removed while it is verified. Of ``all``, those that are removed before their
    turn are left out. Raises NotFoundError, and as ``verify_generation``.
    """
    _sweep_drills(archive)
    verdicts = []
    for generation in _chosen(archive.directory, choice):
        try:
            verdicts.append(_verify_and_note(generation, archive, report))
        except NotFoundError as error:
            if choice != ALL:
                raise
            log.info("not verified", generation=generation.name, reason=error.message)
    return verdicts


def _chosen(directory: Path, choice: str) -> list[Path]:
    if choice not in (ALL, NEWEST):
        return [generation_path(directory, choice)]
    generations = list_generations(directory)
    newest = newest_of(generations)
    if newest is None:
        raise no_generation(directory)
    return [newest.path] if choice == NEWEST else [generation.path for generation in generations]


def _verify_and_note(generation: Path, archive: ArchiveSettings, report: Report | None) -> Verdict:
    with in_use(generation):
        verdict = verify_generation(generation, archive.binaries, report, scratch=archive.scratch)
        wrong = not_a_directory(generation)
        if wrong is not None and wrong.kind is not FindingKind.MISSING:
            return verdict  # a link: what it leads to is not ours to write in
        try:
            note_check(generation, _check(verdict))
        except FileNotFoundError:
            raise no_such_generation(generation.parent, generation.name) from None
        except OSError as error:
            return _not_noted(verdict, error)
    return verdict


def _sweep_drills(archive: ArchiveSettings) -> None:
    """Remove what killed drills left: until the next drill that may be a week, in our room."""
    if archive.scratch is None or not any(archive.scratch.glob(f"{drill_room.PREFIX}*")):
        return
    try:
        drill_room.remove_leftovers(archive.scratch, server_account(), archive.binaries)
    except LeitstandError as error:
        log.warning("drill rooms not swept", problem=error.message)


def _check(verdict: Verdict) -> Check:
    first = verdict.findings[0] if verdict.findings else None
    return Check(
        datetime.now(UTC),
        CheckKind.VERIFY,
        verdict.ok,
        tuple(stage.facts.name for stage in verdict.stages),
        findings=len(verdict.findings),
        detail="" if first is None else f"{first.stage} {first.file}: {first.problem}",
    )


def _not_noted(verdict: Verdict, error: OSError) -> Verdict:
    """On a read-only copy, for example: what was found out is true all the same."""
    problem = f"the outcome could not be noted: {error.strerror}"
    log.warning("verification not noted", generation=verdict.generation, problem=str(error))
    note = Finding("", CHECKS, problem, FindingKind.UNPROVEN)
    return replace(verdict, notes=(*verdict.notes, note))
