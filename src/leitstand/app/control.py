"""Opens the control database and puts the ledgers on it; what every command begins with."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from leitstand.access import AccessLedger
from leitstand.address import check_conninfo
from leitstand.alerts import AlertMetrics, EvaluateAlerts, Evaluator
from leitstand.app.alert_wiring import make_evaluator
from leitstand.app.archive_wiring import archive_executors, archive_settings, object_archive
from leitstand.app.core_wiring import Core, build_core
from leitstand.app.event_wiring import detection, detection_executor, event_catalogue
from leitstand.app.integrity_wiring import integrity_executors
from leitstand.app.metrics_wiring import AllMetrics
from leitstand.app.monitored_hosts import LateHostDowntimes
from leitstand.app.notification_wiring import job_news, make_dispatcher, make_outbox
from leitstand.archive import (
    ArchiveSettings,
    BackupMetrics,
    DrillLedger,
    DrillMetrics,
    IntegrityMetrics,
    ObjectArchive,
    ObjectiveMetrics,
    ObjectMetrics,
    SelftestLedger,
    SelftestMetrics,
)
from leitstand.events import Catalogue, EventQueue
from leitstand.events.detection import Detection, DetectionLedger, DetectionMetrics
from leitstand.execution import (
    Children,
    CommandExecutor,
    Executor,
    HttpExecutor,
    Kinds,
    third_party_executors,
)
from leitstand.jobs import (
    AgentMetrics,
    Agents,
    Applier,
    JobLedger,
    JobMetrics,
    PruneHistory,
    Queue,
    RunChange,
    Servers,
    WindowLedger,
    WindowSource,
)
from leitstand.live import EVENTS, RUNS, Broadcast, MessageLedger, Outbox
from leitstand.metrics import OwnMetrics, Source
from leitstand.modules import CredentialLedger, ModuleLedger
from leitstand.notifications import Dispatcher, NotificationMetrics, SendNotifications
from leitstand.notifications import Outbox as NotificationOutbox
from leitstand.settings import LoadedSettings, Settings
from leitstand.store.database import Database
from leitstand.store.embedded import STOP_PATIENCE, EmbeddedServer
from leitstand.store.schema import bring_up_to_date

GRACE_SHARE = 0.5
"""Share of the shutdown grace that a command gets between SIGTERM and SIGKILL."""


@dataclass(frozen=True)
class Control:
    """The control database and what works on it; ``embedded`` is None with ``database.url``."""

    loaded: LoadedSettings
    database: Database
    embedded: EmbeddedServer | None
    children: Children
    kinds: Kinds
    jobs: JobLedger
    windows: WindowLedger
    downtimes: LateHostDowntimes
    applier: Applier
    queue: Queue
    events: EventQueue
    catalogue: Catalogue
    detection: Detection
    servers: Servers
    agents: Agents
    modules: ModuleLedger
    credentials: CredentialLedger
    drills: DrillLedger
    selftests: SelftestLedger
    archive: ArchiveSettings
    objects: ObjectArchive
    access: AccessLedger
    messages: MessageLedger
    broadcast: Broadcast
    news: Outbox
    event_news: Outbox
    outbox: NotificationOutbox
    dispatcher: Dispatcher
    evaluator: Evaluator
    metrics: OwnMetrics
    all_metrics: AllMetrics
    core: Core

    @property
    def window_source(self) -> WindowSource:
        """All windows that hold for given jobs, downtimes included."""
        return WindowSource(self.windows, self.downtimes)

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self.loaded.settings


def telling(news: Outbox) -> Callable[[RunChange], None]:
    """Publishes changes of runs."""
    return lambda change: news.add(change.as_dict())


@asynccontextmanager
async def open_control(
    loaded: LoadedSettings, patience: Callable[[], float] = lambda: STOP_PATIENCE
) -> AsyncIterator[Control]:
    """The control database with its schema up to date; the embedded one is started if needed.

    ``patience`` tells at the end how many seconds stopping the embedded one may take.
    """
    async with _server(loaded.settings, patience) as (conninfo, embedded):
        await bring_up_to_date(conninfo)
        settings = loaded.settings.database
        async with (
            Database(conninfo, pool_size=settings.pool_size, deadline=settings.timeout) as database,
            LateHostDowntimes(loaded.settings, database) as downtimes,
        ):
            control = _put_together(loaded, database, embedded, downtimes)
            yield control
            await control.news.flush()
            await control.event_news.flush()


@asynccontextmanager
async def _server(
    settings: Settings, patience: Callable[[], float]
) -> AsyncIterator[tuple[str, EmbeddedServer | None]]:
    url = settings.database.url.get_secret_value()
    if url:
        check_conninfo("database.url", url)
        yield url, None
        return
    async with EmbeddedServer(settings.server.data_dir, patience=patience) as embedded:
        yield embedded.conninfo, embedded


def _put_together(
    loaded: LoadedSettings,
    database: Database,
    embedded: EmbeddedServer | None,
    downtimes: LateHostDowntimes,
) -> Control:
    settings, loop = loaded.settings, loaded.settings.loop
    messages = MessageLedger(database)
    broadcast = Broadcast(database, messages)
    news = Outbox(RUNS, broadcast, messages)
    outbox = make_outbox(settings, database)
    queue = Queue(database, telling(news), job_news(settings, outbox))
    dispatcher = make_dispatcher(settings, outbox)
    evaluator = make_evaluator(settings, database, outbox, downtimes)
    events, catalogue = EventQueue(database), event_catalogue(settings)
    children, metrics, modules = Children(), OwnMetrics([]), ModuleLedger(database)
    all_metrics = AllMetrics(settings, metrics, modules)
    kinds = Kinds(
        [
            *_executors(settings, children),
            SendNotifications(dispatcher),
            EvaluateAlerts(evaluator, all_metrics.look, enabled=settings.alerts.enabled),
            PruneHistory([queue, events, outbox, evaluator.alerts], settings.history.keep_days),
            *third_party_executors(),
        ]
    )
    jobs, windows = JobLedger(database, kinds, catalogue.knows), WindowLedger(database)
    control = Control(
        loaded=loaded,
        database=database,
        embedded=embedded,
        children=children,
        kinds=kinds,
        jobs=jobs,
        windows=windows,
        downtimes=downtimes,
        applier=Applier(database, jobs, windows),
        queue=queue,
        events=events,
        catalogue=catalogue,
        detection=detection(settings, database, jobs),
        servers=Servers(database, loop.heartbeat, loop.stale_after),
        agents=Agents(database, loop.stale_after),
        modules=modules,
        credentials=CredentialLedger(database),
        drills=DrillLedger(database),
        selftests=SelftestLedger(database),
        archive=archive_settings(settings),
        objects=object_archive(settings, database),
        access=AccessLedger(database),
        messages=messages,
        broadcast=broadcast,
        news=news,
        event_news=Outbox(EVENTS, broadcast, messages),
        outbox=outbox,
        dispatcher=dispatcher,
        evaluator=evaluator,
        metrics=metrics,
        all_metrics=all_metrics,
        core=build_core(settings, database),
    )
    metrics.add(*_measured(control))
    return control


def _executors(settings: Settings, children: Children) -> list[Executor[Any]]:
    """The kinds that know nothing of the queue."""
    grace = settings.loop.shutdown_grace * GRACE_SHARE
    return [
        CommandExecutor(children=children, grace=grace),
        HttpExecutor(),
        *archive_executors(settings),
        *integrity_executors(settings),
        detection_executor(settings),
    ]


def _measured(control: Control) -> list[Source]:
    """What is the same on every server; a server adds what it knows of itself."""
    return [
        JobMetrics(control.jobs, control.queue, control.servers),
        AgentMetrics(control.agents),
        DrillMetrics(control.drills),
        BackupMetrics(control.archive),
        ObjectMetrics(control.objects),
        IntegrityMetrics(control.database),
        ObjectiveMetrics(control.archive, control.drills),
        SelftestMetrics(control.selftests),
        NotificationMetrics(control.outbox),
        AlertMetrics(control.evaluator.alerts),
        DetectionMetrics(DetectionLedger(control.database)),
    ]
