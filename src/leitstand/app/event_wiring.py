"""Events as the settings want them: which can happen, and who produces them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leitstand.alerts import alert_entries
from leitstand.app.addresses import control_server_address
from leitstand.app.downtime_events import downtime_entries
from leitstand.app.hook_wiring import named_hooks
from leitstand.errors import UsageError
from leitstand.events import Catalogue, outcome_entries
from leitstand.events.detection import (
    Columns,
    Detection,
    DetectLogEvents,
    Detector,
    LogTable,
    own_entries,
    webtrees,
)
from leitstand.execution import Kinds
from leitstand.jobs import JobLedger, JobSpec
from leitstand.settings import DetectorSettings, Settings
from leitstand.store.database import Database

OFFERED_JOB = "cronjob:pseudo-events"
"""The job that watches log tables: there as soon as one is configured, and off until enabled."""


def event_catalogue(settings: Settings) -> Catalogue:
    """The events that can happen in this installation."""
    detected = (entry for table in log_tables(settings) for entry in table.entries())
    hooks = (hook.entry() for hook in named_hooks(settings))
    own = (*outcome_entries(), *alert_entries(), *downtime_entries(), *own_entries())
    return Catalogue([*own, *detected, *hooks])


def log_tables(settings: Settings) -> list[LogTable]:
    """The log tables that are watched; raises UsageError when two have one name."""
    tables = [_log_table(detector) for detector in settings.detector]
    names = [table.name for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two detectors are named {name!r}",
                remedy="Give each [[detector]] a name of its own: its state is kept under it.",
            )
    return tables


def detection(settings: Settings, database: Database, jobs: JobLedger) -> Detection:
    """The detectors, with what they remember on ``database``."""
    return Detection(database, log_tables(settings), jobs.listened_to)


def detection_executor(settings: Settings) -> DetectLogEvents:
    """The job kind; what it needs of the outside it opens when it runs."""

    @asynccontextmanager
    async def open_detection() -> AsyncIterator[Detection]:
        async with control_server_address(settings) as conninfo, Database(conninfo) as database:
            yield detection(settings, database, JobLedger(database, Kinds([])))

    return DetectLogEvents(open_detection)


async def offer_detection(settings: Settings, jobs: JobLedger) -> None:
    """Create the offered job, disabled, if a detector is configured and the job is not there."""
    if not settings.detector or any(job.name == OFFERED_JOB for job in await jobs.list_all()):
        return
    spec = JobSpec(
        name=OFFERED_JOB, kind=DetectLogEvents.kind, schedule="*/5 * * * *", enabled=False
    )
    await jobs.save(spec)


def _log_table(detector: DetectorSettings) -> LogTable:
    url = detector.database_url.get_secret_value()
    marker = Path(detector.offline_marker) if detector.offline_marker else None
    if detector.profile == "webtrees":
        return webtrees(detector.name, url, detector.table_prefix, marker)
    columns = Columns(
        detector.id_column,
        detector.type_column,
        detector.time_column,
        detector.message_column,
        detector.payload_columns,
    )
    events = tuple(
        Detector(
            each.event, each.type, each.prefix, each.description or f"a row of {detector.table}"
        )
        for each in detector.events
    )
    table = f"{detector.table_prefix}{detector.table}"
    return LogTable(detector.name, url, table, columns, events, marker)
