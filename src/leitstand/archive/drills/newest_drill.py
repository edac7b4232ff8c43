"""Drills the newest generation as the configuration says, and notes the outcome beside it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import structlog

from leitstand.archive.drills.copy_check import CopyCheck
from leitstand.archive.drills.database_drill import DatabaseDrill, last_lines, run_database_drill
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.hindrance import hindrance_in
from leitstand.archive.postgres.canary import Canaries
from leitstand.archive.postgres.catalogue import list_generations, newest_of
from leitstand.archive.postgres.checks import Check, CheckKind, note_check
from leitstand.archive.postgres.generation_lock import in_use
from leitstand.archive.postgres.layout import generation_path
from leitstand.archive.postgres.materialise import stages_upto
from leitstand.archive.postgres.stage import Stage, stage_name
from leitstand.archive.settings import ArchiveSettings
from leitstand.errors import LeitstandError
from leitstand.store.account import server_account

log = structlog.get_logger(__name__)

DETAIL_LIMIT = 500
"""Characters of a drill's detail that are kept beside the generation."""


def drill_database(
    archive: ArchiveSettings,
    generation: str | None = None,
    say: Callable[[str], None] = lambda _: None,
    *,
    upto: str | None = None,
    also: CopyCheck | None = None,
) -> Drill:
    """Drill ``generation``, or the newest that holds a backup, be it damaged.

    ``upto`` is ``full`` or an increment's id, the newest by default; ``also`` is one more check.

    No backup is a failed drill. Raises NotFoundError for a generation that was named and does not
    exist, or that is being removed.
    """
    chosen = _choose(archive.directory, generation)
    if chosen is None:
        return _failed("", f"no backup found in {archive.directory}")
    with in_use(chosen):
        return _drill(chosen, upto, archive, say, also)


def _drill(
    generation: Path,
    upto: str | None,
    archive: ArchiveSettings,
    say: Callable[[str], None],
    also: CopyCheck | None,
) -> Drill:
    account = server_account()
    try:
        stages = stages_upto(generation, upto)
        scratch, programs = archive.drill_scratch(account), archive.server_programs(account)
    except LeitstandError as error:
        detail = ": ".join(filter(None, (error.message, error.detail)))
        return _failed(generation.name, detail, hindrance_in(error))
    plan = DatabaseDrill(
        generation=generation,
        upto=stages[-1].name,
        scratch=scratch,
        queries=archive.drill.queries,
        known=_known(stages[-1]),
        phase_timeout=archive.drill.phase_timeout,
        also=also,
    )
    drill = run_database_drill(plan, programs, account, say)
    _note(generation, drill, tuple(stage_name(stage) for stage in stages))
    return drill


def _known(stage: Path) -> Canaries | None:
    """The answers in the stage's record; what is wrong with that is found when it is verified."""
    try:
        record = Stage.read(stage).record
    except LeitstandError:
        return None
    return None if record is None else record.canaries


def _choose(directory: Path, generation: str | None) -> Path | None:
    if generation is not None:
        return generation_path(directory, generation)
    newest = newest_of(list_generations(directory))
    return newest.path if newest is not None else None


def _failed(source: str, detail: str, hindrance: str | None = None) -> Drill:
    return Drill(
        datetime.now(UTC),
        DrillKind.DATABASE,
        source,
        success=False,
        detail=detail,
        hindrance=hindrance,
    )


def _note(generation: Path, drill: Drill, stages: tuple[str, ...]) -> None:
    """Keep the outcome beside the generation, too: rotation asks for it without a database.

    A drill that this machine could not make is no outcome. Held against the generation, a full disk
    would cost the newest proven one its protection.
    """
    if drill.hindrance is not None:
        log.warning("drill hindered", generation=generation.name, problem=drill.detail)
        return
    detail = last_lines(drill.detail, DETAIL_LIMIT)
    check = Check(drill.timestamp, CheckKind.DRILL, drill.success, stages, detail=detail)
    try:
        note_check(generation, check)
    except OSError as error:  # the drill itself is on record in the database
        log.warning("drill not noted", generation=generation.name, problem=str(error))
