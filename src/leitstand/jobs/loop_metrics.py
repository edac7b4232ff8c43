"""What one control server tells Prometheus: the runs that ended on it, and how its loop is."""

import time
from collections.abc import Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.jobs.loop import ControlServer
from leitstand.jobs.run_status import FINAL


class LoopMetrics:
    """A source of metrics. Counters start at 0 with the process, as Prometheus expects."""

    name = "loop"

    def __init__(self, server: ControlServer) -> None:
        self._server = server

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        server = self._server
        ended = CounterMetricFamily(
            "leitstand_core_runs", "Runs that ended on this server", labels=["status"]
        )
        for status in sorted(FINAL):
            ended.add_metric([status.value], server.outcomes[status.value])
        return [
            ended,
            CounterMetricFamily(
                "leitstand_core_runs_released",
                "Runs of lost servers that this server released",
                value=server.passes.released,
            ),
            CounterMetricFamily(
                "leitstand_core_late_results",
                "Results that came after their lease was lost",
                value=server.late_results,
            ),
            CounterMetricFamily(
                "leitstand_core_failed_steps",
                "Steps of passes that failed",
                value=server.passes.failed_steps,
            ),
            GaugeMetricFamily(
                "leitstand_core_last_pass_age_seconds",
                "Seconds since the last complete pass",
                value=time.monotonic() - server.passes.last_completed,
            ),
        ]
