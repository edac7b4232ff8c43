"""Puts the downtimes together: tables, dead letters, queue and whoever listens."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

import structlog

from leitstand.app.downtime_desk import Around
from leitstand.app.downtime_events import DowntimeEvents
from leitstand.downtimes import (
    Applier,
    Consumer,
    Counts,
    DeadLetters,
    DowntimeMetrics,
    Herald,
    Intake,
    Listeners,
    QueueSettings,
    Reaped,
    Reaper,
    Target,
    Views,
    WaitingJobs,
    make_source,
    open_control_target,
    open_target,
    replay,
)
from leitstand.duties import Duty
from leitstand.errors import UnavailableError
from leitstand.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Downtimes:
    """The downtime tables, wherever they are, and what works on them."""

    around: Around
    target: Target
    views: Views
    dead_letters: DeadLetters
    reaper: Reaper
    herald: Herald

    def intake(self, source: str) -> Intake:
        """The way of messages from ``source`` into the tables."""
        node_name = self.around.settings.server.node_name
        listeners = Listeners(
            broadcast=self.around.broadcast,
            jobs=WaitingJobs(self.around.database),
            herald=self.herald,
        )
        applier = Applier(self.target, node_name, leaves_news=True)
        return Intake(applier, self.dead_letters, source, listeners)

    async def reap(self, now: float) -> list[Reaped]:
        """Close what is overdue at ``now``, and announce that; what was closed."""
        reaped = await self.reaper.run_once(now)
        await self.herald.run_once()
        return reaped

    async def replay(self, letter_ids: Iterable[int]) -> Counts:
        """Take dead letters in again, in this order. Raises NotFoundError for an unknown one."""
        return await replay(self.dead_letters, letter_ids, self.intake)


async def downtimes_of(around: Around) -> Downtimes:
    """The tables that the settings name; nothing is connected before it is used."""
    target = await around.downtimes.target()
    return Downtimes(
        around,
        target,
        Views(target),
        DeadLetters(around.database),
        Reaper(target, around.settings.downtimes.reap_after, leaves_news=True),
        Herald(target, DowntimeEvents(around.database, around.events)),
    )


def downtime_target(settings: Settings, conninfo: str) -> AbstractAsyncContextManager[Target]:
    """The database of ``downtimes.database_url``, or the control database."""
    url = settings.downtimes.database_url.get_secret_value()
    return open_target(url) if url else open_control_target(conninfo)


@dataclass(frozen=True)
class DowntimeFeed:
    """What a control server does about downtimes beside its loop."""

    consumer: Consumer
    reaper: Reaper
    herald: Herald
    metrics: DowntimeMetrics

    def duties(self) -> list[Duty]:
        """What is to run until the server ends."""
        reaping = partial(self.reaper.run, lambda: self.consumer.state.is_behind)
        return [self.consumer.run, reaping, self.herald.run]


async def make_feed(around: Around) -> DowntimeFeed:
    """The consumer of ``downtimes.source``, not yet running.

    What only people can mend (tables, privileges, flags of the queue) is an error now; a server
    that is away will be tried again and again.
    """
    source = make_source(_queue(around.settings), around.database.conninfo)
    downtimes = await downtimes_of(around)
    for prepare in (downtimes.target.prepare, source.check):
        try:
            await prepare()
        except UnavailableError as error:
            log.warning("downtimes have to wait", error=error.message, detail=error.detail)
    consumer = Consumer(source, downtimes.intake(source.name), around.settings.downtimes.batch)
    metrics = DowntimeMetrics(consumer.state, downtimes.dead_letters)
    return DowntimeFeed(consumer, downtimes.reaper, downtimes.herald, metrics)


def _queue(settings: Settings) -> QueueSettings:
    downtimes = settings.downtimes
    return QueueSettings(
        source=downtimes.source.get_secret_value(),
        queue=downtimes.queue,
        batch=downtimes.batch,
        exchange=downtimes.exchange,
        routing_key=downtimes.routing_key,
        durable_queue=downtimes.durable_queue,
        durable_exchange=downtimes.durable_exchange,
    )
