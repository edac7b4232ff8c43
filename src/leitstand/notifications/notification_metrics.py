"""What the queue of notifications tells Prometheus."""

from collections.abc import Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.notifications.outbox import Outbox


class NotificationMetrics:
    """A source of metrics; the queue is the same on every server."""

    name = "notifications"

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        backlog = await self._outbox.backlog()
        waiting = GaugeMetricFamily(
            "leitstand_core_notifications", "Notifications that are not sent", labels=["status"]
        )
        for status in ("pending", "sending", "failed"):
            waiting.add_metric([status], getattr(backlog, status))
        return [
            waiting,
            GaugeMetricFamily(
                "leitstand_core_notifications_in_doubt",
                "Notifications whose sender was lost, and that may have arrived twice",
                value=backlog.in_doubt,
            ),
            GaugeMetricFamily(
                "leitstand_core_notifications_oldest_age_seconds",
                "Since the oldest waiting notification was stored",
                value=backlog.oldest or 0.0,
            ),
        ]
