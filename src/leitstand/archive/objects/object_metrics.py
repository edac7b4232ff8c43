"""What the backups of objects tell Prometheus, from the control database alone.

The repository itself is not asked: it may be slow, far away, or locked for hours.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.archive.age import age_of_newest
from leitstand.archive.drills.drill import DrillKind
from leitstand.archive.objects.object_archive import ObjectArchive
from leitstand.archive.objects.object_ledger import Record
from leitstand.archive.objects.read_slices import intact_since, read_since


class ObjectMetrics:
    """A source of metrics; empty until a repository was seen at the configured location."""

    name = "object backups"

    def __init__(
        self, archive: ObjectArchive, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._archive = archive
        self._clock = clock

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""
        ledger = self._archive.ledger
        repository = await ledger.repository_at(self._archive.repository.shown)
        if repository is None:
            return []
        records = await ledger.records(repository)
        checks = await ledger.checks(repository)
        drilled = await self._archive.drills.passed(DrillKind.OBJECTS)
        complete = [record for record in records if record.complete]
        newest = max((record.taken_at for record in complete), default=None)
        return [
            _by_state(records),
            GaugeMetricFamily(
                "backup_objects_snapshots_wanted",
                "How many complete snapshots the policy keeps",
                value=self._archive.repository.keep,
            ),
            self._age("backup_objects_age_seconds", "Since the newest complete snapshot", newest),
            self._age(
                "backup_objects_checked_age_seconds",
                "Since the last check, if it found nothing",
                intact_since(checks),
            ),
            self._age(
                "backup_objects_verified_age_seconds",
                "Since all data was read without a fault",
                read_since(checks),
            ),
            self._age(
                "backup_objects_drilled_age_seconds",
                "Since a snapshot that is kept last passed a drill",
                max((drilled[r.snapshot] for r in complete if r.snapshot in drilled), default=None),
            ),
        ]

    def _age(self, name: str, text: str, time: datetime | None) -> GaugeMetricFamily:
        family, age = GaugeMetricFamily(name, text), age_of_newest([time], self._clock())
        if age is not None:
            family.add_metric([], age)
        return family


def _by_state(records: Sequence[Record]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "backup_objects_snapshots", "Snapshots that Leitstand took and keeps", labels=["state"]
    )
    complete = sum(record.complete for record in records)
    family.add_metric(["complete"], complete)
    family.add_metric(["partial"], len(records) - complete)
    return family
