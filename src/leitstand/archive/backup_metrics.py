"""What the PostgreSQL backups tell Prometheus: how many there are, how old, how well proven."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.archive.age import age_of_newest
from leitstand.archive.postgres.catalogue import Generation, GenerationState, list_generations
from leitstand.archive.settings import ArchiveSettings


class BackupMetrics:
    """A source of metrics, read from the backup directory each time."""

    name = "backups"

    def __init__(
        self, archive: ArchiveSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._archive = archive
        self._clock = clock

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        generations = await asyncio.to_thread(list_generations, self._archive.directory)
        return [
            _by_state(generations),
            GaugeMetricFamily(
                "backup_postgres_generations_wanted",
                "How many generations the policy keeps at least",
                value=self._archive.policy.keep,
            ),
            GaugeMetricFamily(
                "backup_postgres_size_bytes",
                "All generations together",
                value=sum(generation.size for generation in generations),
            ),
            *self._ages(generations),
        ]

    def _ages(self, generations: Sequence[Generation]) -> list[Metric]:
        """Ages of what is sound; a family without a value says that there is none."""
        sound = [g for g in generations if g.state is GenerationState.COMPLETE]
        moments = {
            ("backup_postgres_age_seconds", "Since the newest sound backup was taken"): [
                g.finished_at for g in sound
            ],
            ("backup_postgres_verified_age_seconds", "Since a generation last verified whole"): [
                g.verified_at for g in sound
            ],
            ("backup_postgres_drilled_age_seconds", "Since a generation last passed a drill"): [
                g.drilled_at for g in sound
            ],
        }
        return [self._age(name, text, times) for (name, text), times in moments.items()]

    def _age(self, name: str, text: str, times: Sequence[datetime | None]) -> GaugeMetricFamily:
        family, age = GaugeMetricFamily(name, text), age_of_newest(times, self._clock())
        if age is not None:
            family.add_metric([], age)
        return family


def _by_state(generations: Sequence[Generation]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "backup_postgres_generations", "Generations in the backup directory", labels=["state"]
    )
    counts = Counter(generation.state for generation in generations)
    for state in GenerationState:
        family.add_metric([state.value], counts[state])
    return family
