"""What reconciling and scrubbing tell Prometheus, by store."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.archive.age import age_of_newest
from leitstand.archive.integrity.report_ledger import (
    RECONCILE,
    SCRUB,
    IntegrityReport,
    ReportLedger,
)
from leitstand.archive.integrity.scrub_ledger import failure_counts
from leitstand.store.database import Database


class IntegrityMetrics:
    """A source of metrics, read from the control database, so that a restart resets nothing."""

    name = "integrity"

    def __init__(
        self, database: Database, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._database = database
        self._reports = ReportLedger(database)
        self._clock = clock

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        failures = CounterMetricFamily(
            "storage_integrity_failures",
            "Findings of scrubs: objects whose content is wrong or cannot be read",
            labels=["store"],
        )
        for store, count in (await failure_counts(self._database)).items():
            failures.add_metric([store], count)
        reconciled = await self._reports.latest(RECONCILE)
        scrubbed = await self._reports.latest(SCRUB)
        return [failures, *self._reconciliation(reconciled), *self._scrubbing(scrubbed)]

    def _reconciliation(self, reports: Sequence[IntegrityReport]) -> list[Metric]:
        objects = GaugeMetricFamily(
            "storage_reconcile_objects",
            "What the last reconciliation found, by sort",
            labels=["store", "sort"],
        )
        for report in reports:
            for sort, count in report.facts["counts"].items():
                objects.add_metric([report.store, sort.removesuffix("_in_storage")], count)
        complete = {each.store: not each.incomplete for each in reports}
        return [
            objects,
            _gauge("storage_reconcile_complete", "Whether it saw the whole store", complete),
            _gauge("storage_reconcile_age_seconds", "Since it ended", self._ages(reports)),
        ]

    def _scrubbing(self, reports: Sequence[IntegrityReport]) -> list[Metric]:
        facts = {report.store: report.facts["coverage"] for report in reports}
        covered = {s: c["percent"] / 100 for s, c in facts.items() if c["percent"] is not None}
        oldest = {
            s: c["oldest_days"] * 86400 for s, c in facts.items() if c["oldest_days"] is not None
        }
        never = {s: c["never"] for s, c in facts.items()}
        return [
            _gauge("storage_scrub_coverage_ratio", "Share of the objects read lately", covered),
            _gauge("storage_scrub_never_checked", "Objects that were never read", never),
            _gauge("storage_scrub_oldest_seconds", "Age of the oldest check", oldest),
            _gauge("storage_scrub_age_seconds", "Since the last scrub ended", self._ages(reports)),
        ]

    def _ages(self, reports: Sequence[IntegrityReport]) -> dict[str, float]:
        now = self._clock()
        ages = {each.store: age_of_newest([each.finished_at], now) for each in reports}
        return {store: age for store, age in ages.items() if age is not None}


def _gauge(name: str, text: str, values: dict[str, float] | dict[str, bool]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["store"])
    for store, value in values.items():
        family.add_metric([store], float(value))
    return family
