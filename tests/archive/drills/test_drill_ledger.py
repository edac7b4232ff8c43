"""The history of drills, and what Prometheus hears of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from prometheus_client.core import Metric

from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.drills.drill_metrics import DrillMetrics
from leitstand.store.database import Database

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)


def drill(hours_ago: int, success: bool) -> Drill:
    return Drill(
        timestamp=NOW - timedelta(hours=hours_ago),
        kind=DrillKind.DATABASE,
        source="20261201T170000Z/20261201T171500Z",
        success=success,
        detail="odd \x00 'detail' \udcff",
        recovery_time=2.5 if success else None,
        recovery_point_age=3600.0,
        phases={"unpack": 1.5, "start": 1.0},
    )


async def values(ledger: DrillLedger) -> dict[str, float]:
    families: list[Metric] = list(await DrillMetrics(ledger, lambda: NOW).collect())
    return {
        "/".join((sample.name, *sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


async def test_the_history_is_kept_newest_first(database: Database) -> None:
    ledger = DrillLedger(database)
    for hours, success in ((3, True), (2, False), (1, True)):
        await ledger.record(drill(hours, success))
    history = await ledger.history()
    assert [d.success for d in history] == [True, False, True]
    assert history[0].phases == {"unpack": 1.5, "start": 1.0}
    assert history[0].recovery_time == 2.5
    assert len(await ledger.history(DrillKind.DATABASE, limit=2)) == 2
    assert (await ledger.latest())[DrillKind.DATABASE] == history[0]


async def test_metrics_survive_a_restart(database: Database) -> None:
    ledger = DrillLedger(database)
    never = await values(ledger)
    assert never["restore_drill_last_success/database"] == -1
    assert never["restore_drill_failures_total"] == 0
    assert "restore_drill_age_seconds/database" not in never
    await ledger.record(drill(2, True))
    await ledger.record(drill(1, False))
    failed = await values(DrillLedger(database))
    assert failed["restore_drill_last_success/database"] == 0
    assert failed["restore_drill_failures_total"] == 1
    assert failed["restore_drill_age_seconds/database"] == 3600
    assert "restore_drill_canaries_expected/database" not in failed
    answers = {"expected": 4, "returned": 3}
    await ledger.record(replace(drill(0, True), canaries=answers))
    passed = await values(ledger)
    assert passed["restore_drill_phase_seconds/database/unpack"] == 1.5
    assert passed["restore_drill_canaries_expected/database"] == 4
    assert passed["restore_drill_canaries_returned/database"] == 3
    assert passed["restore_drill_last_success/database"] == 1
    assert passed["restore_drill_failures_total"] == 1
    assert passed["restore_drill_recovery_time_seconds/database"] == 2.5
