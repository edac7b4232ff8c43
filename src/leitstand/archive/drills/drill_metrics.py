"""What restore drills tell Prometheus."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.archive.age import age_of_newest
from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger

NEVER = -1
"""The value of ``restore_drill_last_success`` for a kind that was never drilled."""


class DrillMetrics:
    """A source of metrics, read from the history, so that a restart resets nothing."""

    name = "drills"

    def __init__(
        self, ledger: DrillLedger, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._ledger = ledger
        self._clock = clock

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        latest = await self._ledger.latest()
        failures = await self._ledger.failure_counts()
        return [
            CounterMetricFamily(
                "restore_drill_failures",
                "Restore drills that failed",
                value=sum(failures.values()),
            ),
            _by_kind(
                "restore_drill_last_success",
                "The last drill: 1 passed, 0 failed, -1 never ran",
                {kind: _last_success(latest.get(kind)) for kind in DrillKind},
            ),
            _by_kind(
                "restore_drill_last_failed",
                "1 when the last drill failed, 0 when it passed or there was none",
                {kind: int(_last_success(latest.get(kind)) == 0) for kind in DrillKind},
            ),
            *_recovery(latest),
            *_known_answers(latest),
            _by_kind(
                "restore_drill_age_seconds",
                "Since the last drill ended",
                self._ages(latest),
            ),
        ]

    def _ages(self, latest: dict[DrillKind, Drill]) -> dict[DrillKind, float]:
        now = self._clock()
        ages = {kind: age_of_newest([drill.timestamp], now) for kind, drill in latest.items()}
        return {kind: age for kind, age in ages.items() if age is not None}


def _recovery(latest: dict[DrillKind, Drill]) -> list[Metric]:
    phases = GaugeMetricFamily(
        "restore_drill_phase_seconds", "Phases of the last drill", labels=["kind", "phase"]
    )
    for kind, drill in latest.items():
        for phase, duration in drill.phases.items():
            phases.add_metric([kind.value, phase], duration)
    return [
        _by_kind(
            "restore_drill_recovery_time_seconds",
            "From the backup to the first answer, in the last drill that got there",
            {k: d.recovery_time for k, d in latest.items() if d.recovery_time is not None},
        ),
        _by_kind(
            "restore_drill_recovery_point_age_seconds",
            "How old the newest data was when the last drill that got there began",
            {
                k: d.recovery_point_age
                for k, d in latest.items()
                if d.recovery_point_age is not None
            },
        ),
        phases,
    ]


def _known_answers(latest: dict[DrillKind, Drill]) -> list[Metric]:
    asked = {kind: drill.canaries for kind, drill in latest.items() if "expected" in drill.canaries}
    return [
        _by_kind(
            "restore_drill_canaries_expected",
            "Answers that were known of the backup in the last drill that asked",
            {kind: canaries["expected"] for kind, canaries in asked.items()},
        ),
        _by_kind(
            "restore_drill_canaries_returned",
            "How many of them came back",
            {kind: canaries["returned"] for kind, canaries in asked.items()},
        ),
    ]


def _last_success(drill: Drill | None) -> int:
    return NEVER if drill is None else int(drill.success)


def _by_kind(name: str, text: str, values: dict[DrillKind, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["kind"])
    for kind, value in values.items():
        family.add_metric([kind.value], value)
    return family
