"""What the downtimes tell Prometheus: how far behind the consumer is, and what it has done."""

from collections.abc import Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.downtimes.consumer import ConsumerState
from leitstand.downtimes.dead_letters import DeadLetters


class DowntimeMetrics:
    """A source of metrics. Counters start at 0 with the process."""

    name = "downtimes"

    def __init__(self, state: ConsumerState, dead_letters: DeadLetters) -> None:
        self._state = state
        self._dead_letters = dead_letters

    async def collect(self) -> Sequence[Metric]:
        """The families of this server's consumer, and the dead letters of all."""
        state = self._state
        messages = CounterMetricFamily(
            "leitstand_core_downtime_messages",
            "Messages that this server took from the queue",
            labels=["result"],
        )
        messages.add_metric(["applied"], state.counts.applied)
        messages.add_metric(["ignored"], state.counts.ignored.total())
        messages.add_metric(["rejected"], state.counts.rejected.total())
        return [messages, *self._gauges(), await self._letters()]

    def _gauges(self) -> list[Metric]:
        state = self._state
        return [
            GaugeMetricFamily(
                "leitstand_core_downtime_connected",
                "Whether this server consumes from the queue",
                int(state.connected),
            ),
            GaugeMetricFamily(
                "leitstand_core_downtime_lag_seconds",
                "Time between an event and its arrival in the tables",
                state.lag,
            ),
            GaugeMetricFamily(
                "leitstand_core_downtime_queue_depth", "Messages that wait", state.depth
            ),
            CounterMetricFamily(
                "leitstand_core_downtime_retries",
                "Attempts that failed and were made again",
                value=state.retries,
            ),
        ]

    async def _letters(self) -> Metric:
        return GaugeMetricFamily(
            "leitstand_core_downtime_dead_letters",
            "Messages that could not be used and wait for somebody",
            await self._dead_letters.count(),
        )
