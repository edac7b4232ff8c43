"""Reconcile and scrub as the settings want them, their job kinds, and the demonstration."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from leitstand.app.addresses import control_server_address
from leitstand.archive import (
    DEMONSTRATION_TABLE,
    Demonstration,
    IntegritySettings,
    Quota,
    Reconcile,
    Scrub,
    parse_size,
)
from leitstand.execution import Executor
from leitstand.settings import Settings
from leitstand.store.database import Database


def integrity_settings(settings: Settings) -> IntegritySettings:
    """The settings of objects and scrubs in the archive's own terms."""
    objects, scrub = settings.objects, settings.scrub
    return IntegritySettings(
        store=objects.store.get_secret_value(),
        table=objects.table,
        reports=settings.server.data_dir.absolute() / "reconcile",
        database_url=objects.database_url.get_secret_value(),
        endpoint=objects.endpoint,
        region=objects.region,
        access_key=objects.access_key.get_secret_value(),
        secret_key=objects.secret_key.get_secret_value(),
        deadline=objects.timeout,
        grace=objects.grace,
        limit=objects.report_limit,
        quota=Quota.parse(scrub.sample),
        cooldown=scrub.cooldown,
        max_rate=parse_size(scrub.max_rate) or None if scrub.max_rate else None,
        threads=scrub.threads,
        coverage_days=scrub.coverage_days,
    )


def demonstration(settings: Settings) -> Demonstration:
    """The demonstration of this data directory, whether it is set up or not."""
    return Demonstration(settings.server.data_dir.absolute() / "demo")


def demonstration_settings(settings: Settings) -> IntegritySettings:
    """As configured, but looking at the demonstration."""
    scrub = settings.scrub
    return IntegritySettings(
        store=str(demonstration(settings).objects),
        table=DEMONSTRATION_TABLE,
        reports=settings.server.data_dir.absolute() / "demo" / "reports",
        deadline=settings.objects.timeout,
        grace=settings.objects.grace,
        limit=settings.objects.report_limit,
        quota=Quota.parse(scrub.sample),
        cooldown=scrub.cooldown,
        threads=scrub.threads,
        coverage_days=scrub.coverage_days,
    )


def looks_at_demonstration(settings: Settings) -> bool:
    """Whether the demonstration stands for objects of one's own: it is there, and they are not."""
    return demonstration(settings).exists and not settings.objects.store.get_secret_value()


def integrity_executors(settings: Settings) -> list[Executor[Any]]:
    """The job kinds; what they need of the outside they open when they run."""
    integrity = integrity_settings(settings)

    @asynccontextmanager
    async def open_control() -> AsyncIterator[Database]:
        async with control_server_address(settings) as conninfo, Database(conninfo) as database:
            yield database

    return [Reconcile(integrity, open_control), Scrub(integrity, open_control)]
