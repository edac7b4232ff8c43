"""What the alerts tell Prometheus."""

from collections.abc import Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.alerts.alert_ledger import AlertLedger


class AlertMetrics:
    """A source of metrics; alerts are the same on every server."""

    name = "alerts"

    def __init__(self, alerts: AlertLedger) -> None:
        self._alerts = alerts

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        family = GaugeMetricFamily(
            "leitstand_core_alerts", "Alerts that are pending or firing", labels=["state"]
        )
        for state, count in (await self._alerts.counts()).items():
            family.add_metric([state], count)
        return [family]
