"""How fresh the flags are by which this server answers, as metrics."""

from collections.abc import Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.flags.flags import Flags


class FlagMetrics:
    """A source of metrics."""

    name = "flags"

    def __init__(self, flags: Flags) -> None:
        self._flags = flags

    async def collect(self) -> Sequence[Metric]:
        """The age; without a value where the database has never answered."""
        age = GaugeMetricFamily(
            "leitstand_core_flags_age_seconds", "Since the flags were last read from the database"
        )
        if (seconds := await self._flags.age()) is not None:
            age.add_metric([], seconds)
        return [age]
