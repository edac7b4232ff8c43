"""The restore drill of a PostgreSQL backup: restore, start, ask, tell; nothing is left behind.

Everything blocks: run it in a worker process. The recovery time that is reported counts what a real
recovery would do (verify and unpack, combine, start, first answer), not the further checks.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from leitstand.archive.drills.copy_check import (
    CopyCheck,
    ExpectedAnswer,
    answers_select_one,
    ask_all,
    check_structure,
)
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_room import drill_room
from leitstand.archive.drills.isolated_server import isolated_server
from leitstand.archive.drills.known_answers import ask_known, require_known
from leitstand.archive.drills.stopwatch import Say, Stopwatch
from leitstand.archive.hindrance import hindrance_in
from leitstand.archive.postgres.canary import Canaries
from leitstand.archive.postgres.materialise import Materialised, materialise
from leitstand.display import counted
from leitstand.errors import LeitstandError
from leitstand.store.account import Account
from leitstand.store.binaries import Binaries
from leitstand.store.cluster import Cluster

DETAIL_LIMIT = 2000


@dataclass(frozen=True)
class DatabaseDrill:
    """What to drill: a generation up to a stage, with which questions, how long a phase may take.

    ``known`` are the answers that the stage's record knows, None where it knows none.

    ``scratch`` is a directory of Leitstand's own with room for the whole database that PostgreSQL's
    account can reach.
    """

    generation: Path
    upto: str
    scratch: Path
    queries: Sequence[ExpectedAnswer] = ()
    known: Canaries | None = None
    phase_timeout: float = 3600.0
    also: CopyCheck | None = None
    amcheck: bool = True


RECOVERY = ("unpack", "combine", "start", "answer")
"""The phases that a real recovery would have, too.

``start`` replays the WAL, disarms the copy and starts the server. What a real start does not have,
the end and second start of PostgreSQL, takes about 0.1 s (measured, without WAL and with 0.5 GB).
"""


@dataclass
class _Course:
    """How far a drill has come, and what it has learnt."""

    began: datetime
    watch: Stopwatch
    restored: Materialised | None = None
    canaries: dict[str, Any] = field(default_factory=dict)
    praise: list[str] = field(default_factory=list)


def run_database_drill(
    drill: DatabaseDrill, binaries: Binaries, account: Account, say: Say = lambda _: None
) -> Drill:
    """Carry out the drill and report; whatever is wrong with the backup is a failed drill.

    Never raises for a failure of the restore; exceptions are those of interruption. The scratch
    directory of this drill is removed in any case, its server stopped.
    """
    course = _Course(datetime.now(UTC), Stopwatch(drill.phase_timeout, say))
    try:
        with drill_room(drill.scratch, account, binaries) as room:
            course.restored = _restore(drill, room, binaries, account, course.watch)
            _prove(drill, room, Cluster(course.restored.data, binaries, account), course)
    except Exception as error:  # a failed drill must be told whatever made it fail
        return _report(drill, course, error)
    return _report(drill, course, None)


def _restore(
    drill: DatabaseDrill, room: Path, binaries: Binaries, account: Account, watch: Stopwatch
) -> Materialised:
    with watch.phase("restore"):
        restored = materialise(
            drill.generation,
            room / "data",
            binaries,
            account,
            tablespace_root=room / "tablespaces",
            upto=drill.upto,
            report=watch.check,
        )
    del watch.phases["restore"]
    watch.phases.update(restored.phases)
    return restored


def _prove(drill: DatabaseDrill, room: Path, cluster: Cluster, course: _Course) -> None:
    watch = course.watch
    with ExitStack() as stack:
        with watch.phase("start") as limit:
            server = stack.enter_context(isolated_server(cluster, room, limit))
        with watch.phase("answer") as limit:
            answers_select_one(server, limit)
        if drill.known is not None:
            with watch.phase("canaries") as limit:
                answers = ask_known(server, drill.known, limit)
                course.canaries = answers.as_dict()
                require_known(answers)
        with watch.phase("queries") as limit:
            ask_all(server, drill.queries, limit)
        if drill.also is not None:
            with watch.phase(drill.also.name) as limit:
                course.praise.append(drill.also(server, limit))
        if drill.amcheck:
            with watch.phase("check") as limit:
                check_structure(server, limit)


def _report(drill: DatabaseDrill, course: _Course, error: Exception | None) -> Drill:
    watch, restored = course.watch, course.restored
    answered = "answer" in watch.phases and error is None
    point = restored.recovery_point if restored is not None else None
    return Drill(
        timestamp=datetime.now(UTC),
        kind=DrillKind.DATABASE,
        source=drill.generation.name if restored is None else restored.source,
        success=error is None,
        detail=_praise(drill, course) if error is None else _sentence(error),
        recovery_time=watch.total(*RECOVERY) if answered else None,
        recovery_point_age=None if point is None else _seconds(course.began - point),
        phases=watch.phases,
        canaries=course.canaries,
        hindrance=None if error is None else hindrance_in(error),
    )


def _seconds(time: timedelta) -> float:
    return round(time.total_seconds(), 3)


def _praise(drill: DatabaseDrill, course: _Course) -> str:
    parts = ["restored, started and answered"]
    if course.canaries:
        parts.append(f"{counted(course.canaries['expected'], 'known answer')} returned")
    if drill.queries:
        parts.append(f"{len(drill.queries)} queries as expected")
    parts += course.praise
    if drill.amcheck:
        parts.append("pg_amcheck found no corruption")
    return "; ".join(parts)


def _sentence(error: Exception) -> str:
    """What happened and its detail; of one that is too long the last lines, which decide."""
    if not isinstance(error, LeitstandError):
        return f"{type(error).__name__}: {error}"
    if error.detail is None:
        return error.message[:DETAIL_LIMIT]
    return f"{error.message}: {last_lines(error.detail, DETAIL_LIMIT - len(error.message))}"


def last_lines(text: str, limit: int) -> str:
    """``text``, or as many whole lines of its end as have room in ``limit`` characters.

    A last line that is longer by itself is cut in front.
    """
    if len(text) <= limit:
        return text
    kept = text[max(0, len(text) - max(limit, 1) + 2) :]
    _, _, whole = kept.partition("\n")
    return f"… {whole or kept}"
