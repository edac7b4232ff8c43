"""Drills the newest backup, and of the older ones those whose turn it is."""

from collections.abc import Callable, Sequence
from typing import Any

import structlog

from leitstand.archive.drills.drill import Drill
from leitstand.archive.drills.drill_choice import Drillable, choose
from leitstand.archive.drills.newest_drill import drill_database
from leitstand.archive.postgres.catalogue import (
    Generation,
    GenerationState,
    list_generations,
    newest_of,
)
from leitstand.archive.settings import ArchiveSettings
from leitstand.display import rfc3339
from leitstand.errors import NotFoundError

log = structlog.get_logger(__name__)


def drill_in_turn(
    archive: ArchiveSettings, older: int, say: Callable[[str], None] = lambda _: None
) -> list[Drill]:
    """The drill of the newest backup, then of up to ``older`` others; whatever any of them came to.

    Those are chosen before the first drill begins. One that was removed meanwhile is left out.
    """
    turns = choose(older_stages(list_generations(archive.directory)), older)
    drills = [drill_database(archive, say=say)]
    for turn in turns:
        say(f"{turn.generation} to {turn.stage}")
        upto = turn.stage.rpartition("/")[2]
        try:
            drills.append(drill_database(archive, turn.generation, say, upto=upto))
        except NotFoundError as error:
            log.info("not drilled", generation=turn.generation, reason=error.message)
    return drills


def older_stages(generations: Sequence[Generation]) -> list[Drillable]:
    """Every stage that can be restored to, without the newest backup.

    What is known to be damaged is left out: a drill of it would only say so again.
    """
    newest = newest_of(generations)
    return [
        Drillable(generation.id, stage.name, stage.tried_at)
        for generation in generations
        if generation.state is GenerationState.COMPLETE
        for stage in generation.stages
        if newest is None or stage is not newest.stages[-1]
    ]


def as_document(drills: Sequence[Drill]) -> dict[str, Any]:
    """The JSON shape of several drills: the first one's, with the others under ``older``."""
    first, *older = map(drill_document, drills)
    return {**first, "older": older}


def drill_document(drill: Drill) -> dict[str, Any]:
    """The JSON shape of a drill, of plain values alone."""
    return {**drill.as_dict(), "timestamp": rfc3339(drill.timestamp)}
