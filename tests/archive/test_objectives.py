"""Promises about recovery beside what was measured."""

from dataclasses import replace
from datetime import timedelta

from leitstand.archive import (
    ArchiveSettings,
    Drill,
    DrillKind,
    DrillLedger,
    DrillSettings,
    Judgement,
    ObjectiveMetrics,
    Objectives,
    Policy,
    breaches,
    judge,
)
from leitstand.store.database import Database
from tests.archive_scene import Archive

POLICY = Policy(keep=1)


def broken(judged: tuple[Judgement, ...]) -> dict[str, str]:
    return {judgement.objective: judgement.sentence for judgement in breaches(judged)}


def test_promises_that_are_kept_and_broken(archive: Archive) -> None:
    """A day later nothing is late; three days later, backup and verification are."""
    (generation,) = archive.generations
    assert generation.finished_at is not None
    drilled = replace(generation, drilled_at=generation.finished_at)
    drill = Drill(generation.finished_at, DrillKind.DATABASE, "g", True, "", recovery_time=90.0)
    day = generation.finished_at + timedelta(days=1)
    promised = Objectives(recovery_time=60)
    assert broken(judge(promised, [drilled], POLICY, [drill], day)) == {
        "recovery_time": "The last recovery took 1 min 30 s, and 1 min are promised"
    }
    found = broken(judge(Objectives(), [drilled], POLICY, [drill], day + timedelta(days=2)))
    assert set(found) == {"recovery_point", "verify_every"}
    assert found["recovery_point"].startswith("The newest verified backup is 3 d old")


def test_what_never_happened_breaks_the_promise(archive: Archive) -> None:
    (generation,) = archive.generations
    assert generation.finished_at is not None
    found = broken(judge(Objectives(), [generation], POLICY, [], generation.finished_at))
    assert found == {
        "drill_every": "The restore drill is overdue: no backup that is here has passed one"
    }
    assert set(broken(judge(Objectives(), [], POLICY, [], generation.finished_at))) == {
        "recovery_point",
        "verify_every",
        "drill_every",
    }
    nothing = Objectives(0, 0, 0, 0, 0)
    assert judge(nothing, [], POLICY, [], generation.finished_at) == ()


def test_what_a_clock_has_dated_in_the_future_proves_nothing(archive: Archive) -> None:
    """Case 38: with a clock ten years ahead, the promises were kept for ten years."""
    (generation,) = archive.generations
    assert generation.finished_at is not None
    ahead = generation.finished_at + timedelta(days=3650)
    dated = replace(generation, verified_at=ahead, drilled_at=ahead)
    now = generation.finished_at + timedelta(minutes=1)
    assert set(broken(judge(Objectives(), [dated], POLICY, [], now))) == {
        "verify_every",
        "drill_every",
    }
    soon = replace(generation, drilled_at=now + timedelta(seconds=30))
    assert broken(judge(Objectives(), [soon], POLICY, [], now)) == {}


async def test_metrics(archive: Archive, database: Database) -> None:
    place = archive.directory.parent
    settings = ArchiveSettings(
        archive.directory, place / "log", 1, POLICY, DrillSettings(place / "drills")
    )
    families = await ObjectiveMetrics(settings, DrillLedger(database)).collect()
    values = {
        f"{sample.name.removeprefix('backup_postgres_objective_')}/{sample.labels['objective']}": (
            sample.value
        )
        for family in families
        for sample in family.samples
    }
    assert values["seconds/drill_every"] == 8 * 86400
    assert values["breached/drill_every"] == 1
    assert "measured_seconds/drill_every" not in values
    assert values["breached/verify_every"] == values["breached/rotate_every"] == 0
    assert 0 < values["measured_seconds/recovery_point"] < 86400
