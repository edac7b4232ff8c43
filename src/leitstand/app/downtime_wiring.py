"""Puts the downtimes together: tables, dead letters, queue and whoever listens."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from leitstand.app.control import Control
from leitstand.app.downtime_events import DowntimeEvents
from leitstand.downtimes import (
    Applier,
    Consumer,
    DeadLetters,
    DowntimeMetrics,
    Intake,
    Listeners,
    QueueSettings,
    Reaper,
    Target,
    Views,
    WaitingJobs,
    make_source,
    open_control_target,
    open_target,
)
from leitstand.errors import UnavailableError
from leitstand.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Downtimes:
    """The downtime tables, wherever they are, and what works on them."""

    control: Control
    target: Target
    views: Views
    dead_letters: DeadLetters
    reaper: Reaper

    def intake(self, source: str) -> Intake:
        """The way of messages from ``source`` into the tables."""
        node_name = self.control.settings.server.node_name
        listeners = Listeners(
            broadcast=self.control.broadcast,
            announcer=DowntimeEvents(self.control.database, self.control.events),
            jobs=WaitingJobs(self.control.database),
        )
        return Intake(Applier(self.target, node_name), self.dead_letters, source, listeners)


@asynccontextmanager
async def open_downtimes(control: Control) -> AsyncIterator[Downtimes]:
    """The tables that the settings name; nothing is connected before it is used."""
    async with downtime_target(control.settings, control.database.conninfo) as target:
        yield Downtimes(
            control,
            target,
            Views(target),
            DeadLetters(control.database),
            Reaper(target, control.settings.downtimes.reap_after),
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
    metrics: DowntimeMetrics

    def duties(self) -> list[Coroutine[Any, Any, None]]:
        """What is to run until the server ends."""
        return [self.consumer.run(), self.reaper.run()]


@asynccontextmanager
async def open_feed(control: Control) -> AsyncIterator[DowntimeFeed]:
    """The consumer of ``downtimes.source``, not yet running.

    What only people can mend (tables, privileges, flags of the queue) is an error now; a server
    that is away will be tried again and again.
    """
    source = make_source(_queue(control.settings), control.database.conninfo)
    async with open_downtimes(control) as downtimes:
        for prepare in (downtimes.target.prepare, source.check):
            try:
                await prepare()
            except UnavailableError as error:
                log.warning("downtimes have to wait", error=error.message, detail=error.detail)
        batch = control.settings.downtimes.batch
        consumer = Consumer(source, downtimes.intake(source.name), batch)
        metrics = DowntimeMetrics(consumer.state, downtimes.dead_letters)
        yield DowntimeFeed(consumer, downtimes.reaper, metrics)


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
