"""What the detectors of log tables tell Prometheus."""

from collections.abc import Callable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.events.detection.ledger import DetectionLedger
from leitstand.events.detection.source_status import DetectorStatus, SourceStatus


class DetectionMetrics:
    """A source of metrics that is the same on every server."""

    name = "detection"

    def __init__(self, ledger: DetectionLedger) -> None:
        self._ledger = ledger

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        sources = await self._ledger.status()
        return [*_of_sources(sources), *_of_detectors(sources)]


def _of_sources(sources: Sequence[SourceStatus]) -> list[Metric]:
    unavailable = GaugeMetricFamily(
        "leitstand_core_log_unavailable",
        "1 when the log table could not be read the last time",
        labels=["source"],
    )
    age = GaugeMetricFamily(
        "leitstand_core_log_read_age_seconds", "Since the table was last read", labels=["source"]
    )
    skew = GaugeMetricFamily(
        "leitstand_core_log_clock_skew_seconds",
        "The clock of the table's server minus the control database's",
        labels=["source"],
    )
    used = GaugeMetricFamily(
        "leitstand_core_log_ids_used_ratio",
        "The share of its 32-bit numbers that the table has used up",
        labels=["source"],
    )
    resets = CounterMetricFamily(
        "leitstand_core_log_resets", "How often the table was begun anew", labels=["source"]
    )
    for each in sources:
        unavailable.add_metric([each.name], int(each.state == "unavailable"))
        resets.add_metric([each.name], each.resets)
        if each.read_age is not None:
            age.add_metric([each.name], each.read_age)
        if each.clock_skew is not None:
            skew.add_metric([each.name], each.clock_skew)
        if each.highest is not None and each.id_limit is not None:
            used.add_metric([each.name], each.highest / each.id_limit)
    return [unavailable, age, skew, used, resets]


def _of_detectors(sources: Sequence[SourceStatus]) -> list[Metric]:
    return [
        _by_detector(
            GaugeMetricFamily(
                "leitstand_core_log_rows_behind",
                "Numbers of rows that the detector has not looked at",
                labels=LABELS,
            ),
            sources,
            lambda each: each.behind,
        ),
        _by_detector(
            GaugeMetricFamily(
                "leitstand_core_log_open_gaps",
                "Numbers below the detector's checkpoint whose rows may still come",
                labels=LABELS,
            ),
            sources,
            lambda each: each.open_gaps,
        ),
        _by_detector(
            CounterMetricFamily(
                "leitstand_core_log_dead_gaps", "Numbers whose rows never came", labels=LABELS
            ),
            sources,
            lambda each: each.dead_ids,
        ),
        _by_detector(
            CounterMetricFamily(
                "leitstand_core_log_late_rows", "Events of rows that came late", labels=LABELS
            ),
            sources,
            lambda each: each.late_rows,
        ),
        _by_detector(
            CounterMetricFamily(
                "leitstand_core_log_events", "Events of the detector", labels=LABELS
            ),
            sources,
            lambda each: each.emitted,
        ),
    ]


LABELS = ["source", "event"]


def _by_detector(
    family: GaugeMetricFamily | CounterMetricFamily,
    sources: Sequence[SourceStatus],
    count: Callable[[DetectorStatus], int],
) -> Metric:
    for source in sources:
        for detector in source.detectors:
            family.add_metric([source.name, detector.event], count(detector))
    return family
