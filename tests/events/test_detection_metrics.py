"""What Prometheus is told of log tables."""

from leitstand.events.detection import DetectionLedger, DetectionMetrics
from tests.events.log_scene import LOGIN, LogScene


async def measured(log: LogScene, *wanted: str) -> list[float]:
    """The values of these metrics, for the detector of logins where there are several."""
    found = {}
    for family in await DetectionMetrics(DetectionLedger(log.database)).collect():
        for sample in family.samples:
            assert sample.labels["source"] == "webtrees"
            if sample.labels.get("event", LOGIN) == LOGIN:
                found[sample.name.removeprefix("leitstand_core_log_")] = sample.value
    return [found[name] for name in wanted]


async def test_late_and_dead_rows(shared_log: LogScene) -> None:
    log = shared_log
    await log.detect()
    async with log.open_transaction("Login: slow") as slow, log.open_transaction("Login: never"):
        await log.log("Login: fast")
        await log.detect()
        assert await measured(log, "open_gaps", "events_total") == [2, 1]
        await slow.commit()
    for _ in range(3):
        await log.detect()
    assert await measured(log, "open_gaps", "late_rows_total", "dead_gaps_total") == [0, 1, 1]
    assert 0 <= (await measured(log, "read_age_seconds"))[0] < 60


async def test_lag_troubles_and_resets(any_log: LogScene) -> None:
    log = any_log
    assert await DetectionMetrics(DetectionLedger(log.database)).collect()
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(250)])
    await log.log("Login failed: x")
    await log.detect()
    assert await measured(log, "rows_behind", "unavailable", "resets_total") == [51, 0, 0]
    await log.execute("DROP TABLE wt_log")
    await log.detect()
    assert await measured(log, "rows_behind", "unavailable") == [51, 1]
    await log.create()
    await log.detect()
    assert await measured(log, "rows_behind", "unavailable", "resets_total") == [0, 0, 1]
