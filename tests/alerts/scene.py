"""Rules, pages and evaluators for the tests of alerts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from leitstand.alerts import (
    AlertLedger,
    AlertRule,
    Evaluation,
    Evaluator,
    MetricPage,
    NoPlaceDowntimes,
    PlaceDowntimes,
    RuleLedger,
    Series,
    SilenceLedger,
    parse_rule,
)
from leitstand.events import Event, EventQueue
from leitstand.notifications import Notification, Outbox, Status
from leitstand.store.database import Database

METRIC = "disk_used"


def page(*series: tuple[float, Mapping[str, str]], name: str = METRIC) -> MetricPage:
    """A page with one gauge; without series the gauge is there all the same."""
    made = MetricPage()
    made.declare(name, "gauge")
    for value, labels in series:
        made.add(name, Series(labels, value))
    return made


def one(value: float, **labels: str) -> MetricPage:
    """A page with one series."""
    return page((value, labels))


NOTHING = MetricPage()
"""What is known when the target is down."""


@dataclass
class Scene:
    """An evaluator on a database, and the time, which only moves when told to."""

    database: Database
    now: datetime
    downtimes: PlaceDowntimes = field(default_factory=NoPlaceDowntimes)
    audience: dict[str, tuple[str, ...]] = field(default_factory=dict)
    listened: set[str] = field(default_factory=set)

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.database)

    @property
    def evaluator(self) -> Evaluator:
        return Evaluator(
            self.database,
            RuleLedger(self.database),
            AlertLedger(self.database),
            SilenceLedger(self.database),
            self.outbox,
            self.audience,
            self.downtimes,
            self._listened,
        )

    async def _listened(self) -> set[str]:
        return self.listened

    async def rule(self, **fields: Any) -> AlertRule:
        """Save a rule: more than 90 is too much, told to ops, unless ``fields`` say otherwise."""
        given: dict[str, Any] = {"name": "disk", "metric_name": METRIC, "recipient": "ops@x"}
        if not fields.get("absent"):
            given |= {"comparison": "gt", "threshold": 90}
        return await RuleLedger(self.database).save(parse_rule({**given, **fields}))

    async def look(self, page: MetricPage, *, dry_run: bool = False) -> Evaluation:
        """Evaluate now."""
        return await self.evaluator.evaluate(page, now=self.now, dry_run=dry_run)

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    async def told(self) -> list[str]:
        """What people were told, oldest first: the states."""
        return [each.payload["state"] for each in await self.notifications()]

    async def notifications(self) -> list[Notification]:
        """All notifications, oldest first."""
        return list(reversed(await self.outbox.list_all(limit=10_000)))

    async def events(self) -> list[Event]:
        """What jobs were told, oldest first."""
        return list(reversed(await EventQueue(self.database).list_events()))

    async def fail_all(self) -> None:
        """Have all that waits to be sent end as failed."""
        for claimed in await self.outbox.claim(1000, 60):
            await self.outbox.record_failure(claimed.held, "no", None)
        assert {n.status for n in await self.notifications()} == {Status.FAILED}
