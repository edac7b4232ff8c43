"""Verifies generations and notes in each what came out."""

from datetime import UTC, datetime
from pathlib import Path

from leitstand.archive.postgres.catalogue import list_generations, read_generation
from leitstand.archive.postgres.checks import Check, CheckKind, note_check
from leitstand.archive.postgres.verify import Report, Verdict, verify_generation
from leitstand.archive.settings import ArchiveSettings, no_generation

ALL = "all"
NEWEST = "newest"


def chosen_generations(directory: Path, choice: str) -> list[Path]:
    """The directories that ``choice`` means: an id, ``newest`` or ``all``, the oldest first.

    Raises NotFoundError.
    """
    if choice not in (ALL, NEWEST):
        return [read_generation(directory, choice).path]
    found = [generation.path for generation in list_generations(directory)]
    if not found:
        raise no_generation(directory)
    return found if choice == ALL else found[-1:]


def verify_and_note(
    generation: Path, archive: ArchiveSettings, report: Report | None = None
) -> Verdict:
    """Verify every byte of a generation, and add the outcome to its history of checks."""
    verdict = verify_generation(generation, archive.binaries, report)
    first = verdict.findings[0] if verdict.findings else None
    detail = "" if first is None else f"{first.stage} {first.file}: {first.problem}"
    stages = tuple(stage.facts.name for stage in verdict.stages)
    note_check(
        generation,
        Check(
            datetime.now(UTC),
            CheckKind.VERIFY,
            verdict.ok,
            stages,
            findings=len(verdict.findings),
            detail=detail,
        ),
    )
    return verdict
