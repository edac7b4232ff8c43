"""What the self-tests of the checker tell Prometheus."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.archive.age import age_of_newest
from leitstand.archive.checker.selftest_ledger import SelftestLedger

NEVER = -1


class SelftestMetrics:
    """A source of metrics, read from the history, so that a restart resets nothing."""

    name = "selftests"

    def __init__(
        self, ledger: SelftestLedger, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._ledger = ledger
        self._clock = clock

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        latest = next(iter(await self._ledger.history(limit=1)), None)
        age = GaugeMetricFamily(
            "backup_postgres_selftest_age_seconds", "Since the last self-test of the checker"
        )
        seconds = age_of_newest([latest.timestamp] if latest else [], self._clock())
        if seconds is not None:
            age.add_metric([], seconds)
        return [
            CounterMetricFamily(
                "backup_postgres_selftest_misses",
                "Planted damages that the checker did not find",
                value=await self._ledger.missed(),
            ),
            GaugeMetricFamily(
                "backup_postgres_selftest_last_success",
                "The last self-test: 1 found everything, 0 did not, -1 never ran",
                value=NEVER if latest is None else int(latest.success),
            ),
            age,
        ]
