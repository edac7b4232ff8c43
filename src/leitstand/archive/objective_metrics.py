"""What the recovery objectives tell Prometheus: promised, measured, breached."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.archive.drills.drill import DrillKind
from leitstand.archive.drills.drill_ledger import DrillLedger
from leitstand.archive.objectives import Judgement, judge
from leitstand.archive.postgres.catalogue import list_generations
from leitstand.archive.settings import ArchiveSettings

LOOKED_AT = 20
"""Drills, the newest first, among which one that got to its first answer is looked for."""


class ObjectiveMetrics:
    """A source of metrics, from the backup directory and the history of drills."""

    name = "objectives"

    def __init__(
        self,
        archive: ArchiveSettings,
        drills: DrillLedger,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._archive = archive
        self._drills = drills
        self._clock = clock

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now; what was never measured has no value, and is breached."""
        archive = self._archive
        generations = await asyncio.to_thread(list_generations, archive.directory)
        drills = await self._drills.history(DrillKind.DATABASE, LOOKED_AT)
        judged = judge(archive.objectives, generations, archive.policy, drills, self._clock())
        return [
            _family(
                "backup_postgres_objective_seconds",
                "What is promised",
                judged,
                lambda judgement: judgement.promised,
            ),
            _family(
                "backup_postgres_objective_measured_seconds",
                "What was measured of it",
                judged,
                lambda judgement: judgement.measured,
            ),
            _family(
                "backup_postgres_objective_breached",
                "Whether the promise is broken: 1 or 0",
                judged,
                lambda judgement: int(judgement.breached),
            ),
        ]


def _family(
    name: str,
    text: str,
    judged: Sequence[Judgement],
    value_of: Callable[[Judgement], float | None],
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["objective"])
    for judgement in judged:
        value = value_of(judgement)
        if value is not None:
            family.add_metric([judgement.objective], value)
    return family
