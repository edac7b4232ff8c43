"""What the hooks tell Prometheus: calls that were taken, and those that were refused, and why."""

from collections.abc import Sequence

from prometheus_client.core import CounterMetricFamily, Metric

from leitstand.events.webhooks.intake import Intake


class WebhookMetrics:
    """A source of metrics. Counters are this server's, and start at 0 with the process."""

    name = "webhooks"

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        taken = CounterMetricFamily(
            "leitstand_core_webhooks",
            "Calls that this server answered with 202: stored, or repeated and stored before",
            labels=["hook", "result"],
        )
        for labels, count in self._intake.taken.items():
            taken.add_metric(labels, count)
        refused = CounterMetricFamily(
            "leitstand_core_webhooks_refused",
            "Calls that this server refused, by the code of the answer; hook is empty if unknown",
            labels=["hook", "reason"],
        )
        for labels, count in self._intake.refused.items():
            refused.add_metric(labels, count)
        return [taken, refused]
