"""Which older backups have their turn in a drill; pure and deterministic.

The newest backup is drilled each time. Beside it, over weeks, every other one that can be restored
is: what was never drilled first, then what was not for the longest time. Among equals, a generation
that was drilled long ago or never goes before one that was lately, and newer before older.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Drillable:
    """A stage to which a generation can be restored, and when that was last tried.

    It counts whether it passed or not: what fails must not keep the others from their turn.
    ``stage`` is its name; names sort in the order of the chain.
    """

    generation: str
    stage: str
    tried_at: datetime | None


def choose(stages: Sequence[Drillable], count: int) -> tuple[Drillable, ...]:
    """The ``count`` of ``stages`` whose turn it is, the first first; fewer if there are no more."""
    left = sorted(stages, key=lambda stage: (stage.generation, stage.stage), reverse=True)
    chosen: list[Drillable] = []
    generations = _last_tries(stages)
    while left and len(chosen) < count:
        turn = min(left, key=lambda stage: (stage.tried_at or NEVER, generations[stage.generation]))
        left.remove(turn)
        chosen.append(turn)
        generations[turn.generation] = datetime.max.replace(tzinfo=UTC)
    return tuple(chosen)


def _last_tries(stages: Sequence[Drillable]) -> dict[str, datetime]:
    last: dict[str, datetime] = {}
    for stage in stages:
        last[stage.generation] = max(last.get(stage.generation, NEVER), stage.tried_at or NEVER)
    return last
