"""What recovery was promised to be, and whether it is: time, point, and how often it is proven.

Pure. The promises are numbers of seconds; 0 promises nothing. What was measured comes from the
backup directory (ages, overdue rotation) and from the history of drills (the recovery time).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leitstand.archive.age import age_of_newest
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.postgres.catalogue import Generation, GenerationState
from leitstand.archive.postgres.retention import Policy
from leitstand.archive.postgres.rotate import overdue
from leitstand.display import counted, seconds

HOUR, DAY = 3600.0, 86400.0

RECOVERY_TIME = "recovery_time"
RECOVERY_POINT = "recovery_point"
VERIFY_EVERY = "verify_every"
DRILL_EVERY = "drill_every"
ROTATE_EVERY = "rotate_every"


@dataclass(frozen=True)
class Objectives:
    """Promises in seconds: how long a recovery takes, how old its data may be, how often what is
    done. By default a nightly backup, its verification and rotation with two hours of patience, and
    a weekly drill with a day of it.
    """

    recovery_time: float = 0.0
    recovery_point: float = 26 * HOUR
    verify_every: float = 26 * HOUR
    drill_every: float = 8 * DAY
    rotate_every: float = 26 * HOUR


@dataclass(frozen=True)
class Judgement:
    """One promise beside what was measured, both in seconds; ``sentence`` tells the breach.

    ``measured`` is None where nothing was measured yet. A breach of the rotation has no measure: it
    is what still lies there.
    """

    objective: str
    promised: float
    measured: float | None
    breached: bool
    sentence: str

    def as_dict(self) -> dict[str, object]:
        """The judgement's JSON shape."""
        return dict(vars(self))


def judge(
    objectives: Objectives,
    generations: Sequence[Generation],
    policy: Policy,
    drills: Iterable[Drill],
    now: datetime,
) -> tuple[Judgement, ...]:
    """All promises, those of 0 seconds left out; ``drills`` are the newest first."""
    judged = (
        _recovery_time(objectives.recovery_time, drills),
        _recovery_point(objectives.recovery_point, generations, now),
        _verified(objectives.verify_every, generations, now),
        _drilled(objectives.drill_every, generations, now),
        _rotated(objectives.rotate_every, generations, policy, now),
    )
    return tuple(judgement for judgement in judged if judgement.promised > 0)


def breaches(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Those that are not kept."""
    return [judgement for judgement in judgements if judgement.breached]


def _recovery_time(promised: float, drills: Iterable[Drill]) -> Judgement:
    """Unknown is no breach: that there was no drill is one of another promise."""
    databases = (drill for drill in drills if drill.kind is DrillKind.DATABASE)
    times = (drill.recovery_time for drill in databases if drill.recovery_time is not None)
    measured = next(times, None)
    return Judgement(
        RECOVERY_TIME,
        promised,
        measured,
        measured is not None and measured > promised,
        f"The last recovery took {seconds(measured)}, and {seconds(promised)} are promised",
    )


def _recovery_point(promised: float, generations: Sequence[Generation], now: datetime) -> Judgement:
    verified = [g for g in _sound(generations) if g.verified_at is not None]
    measured = age_of_newest([g.finished_at for g in verified], now)
    return Judgement(
        RECOVERY_POINT,
        promised,
        measured,
        _late(measured, promised),
        f"The newest verified backup is {seconds(measured)} old, and {seconds(promised)} are"
        " promised"
        if measured is not None
        else "There is no verified backup",
    )


def _verified(promised: float, generations: Sequence[Generation], now: datetime) -> Judgement:
    measured = age_of_newest([g.verified_at for g in _sound(generations)], now)
    return _repeated(VERIFY_EVERY, "verification", promised, measured)


def _drilled(promised: float, generations: Sequence[Generation], now: datetime) -> Judgement:
    measured = age_of_newest([g.drilled_at for g in _sound(generations)], now)
    return _repeated(DRILL_EVERY, "restore drill", promised, measured)


def _repeated(objective: str, what: str, promised: float, measured: float | None) -> Judgement:
    return Judgement(
        objective,
        promised,
        measured,
        _late(measured, promised),
        f"The {what} is overdue: the last that passed was {seconds(measured)} ago, and one should"
        f" every {seconds(promised)}"
        if measured is not None
        else f"The {what} is overdue: no backup that is here has passed one",
    )


def _rotated(
    promised: float, generations: Sequence[Generation], policy: Policy, now: datetime
) -> Judgement:
    late = overdue(generations, policy, now - timedelta(seconds=promised))
    names = ", ".join(generation.id for generation in late)
    return Judgement(
        ROTATE_EVERY,
        promised,
        None,
        bool(late),
        f"Rotation is overdue: it should have removed {counted(len(late), 'generation')} ({names})",
    )


def _sound(generations: Sequence[Generation]) -> list[Generation]:
    return [g for g in generations if g.state is GenerationState.COMPLETE]


def _late(measured: float | None, promised: float) -> bool:
    return measured is None or measured > promised
