"""The whole site on a test's own database, and callers of every role."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
from fastapi import APIRouter, FastAPI

from leitstand.access import AccessLedger, Gate, Role
from leitstand.alerts import MetricPage, NoPlaceDowntimes
from leitstand.app.alert_wiring import make_evaluator
from leitstand.app.archive_wiring import object_archive
from leitstand.app.core_wiring import build_core
from leitstand.app.downtime_desk import LateDowntimeDesk
from leitstand.app.monitored_hosts import LateHostDowntimes
from leitstand.app.notification_wiring import address_book, make_outbox, notify_rules
from leitstand.archive import DrillLedger, ProofReport, sealed
from leitstand.events import Catalogue, EventQueue, outcome_entries
from leitstand.events.detection import DetectionLedger
from leitstand.events.webhooks import Hook, Intake
from leitstand.health import Readiness
from leitstand.jobs import Agents, JobLedger, NoDowntimes, Servers, WindowLedger, WindowSource
from leitstand.live import Broadcast, Hub, MessageLedger
from leitstand.metrics import OwnMetrics
from leitstand.modules import CredentialLedger, ModuleLedger
from leitstand.settings import Settings
from leitstand.store.database import Database
from leitstand.web import Controls, Site, Status, build_site
from tests.alerts.scene import page
from tests.jobs.scene import Scene, scene_on

HOST = "http://localhost:8080"
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
"""What a browser says of a request that one of our own pages makes."""


@dataclass(frozen=True)
class Web:
    """The site, what it works on, and a token for each role.

    Who looks at downtimes closes ``downtimes`` in the end, as the fixture ``web`` does.
    """

    app: FastAPI
    scene: Scene
    controls: Controls
    tokens: dict[Role, str]
    downtimes: LateHostDowntimes

    @asynccontextmanager
    async def client(
        self, role: Role | None = None, headers: dict[str, str] | None = None
    ) -> AsyncIterator[httpx.AsyncClient]:
        """A caller with the token of the role, or without any."""
        sent = dict(headers or {})
        if role is not None:
            sent["Authorization"] = f"Bearer {self.tokens[role]}"
        transport = httpx.ASGITransport(
            self.app, raise_app_exceptions=False, client=("10.0.0.1", 1)
        )
        async with httpx.AsyncClient(transport=transport, base_url=HOST, headers=sent) as client:
            yield client

    async def get(self, path: str, role: Role | None = Role.VIEWER) -> httpx.Response:
        """The answer to a GET."""
        async with self.client(role) as client:
            return await client.get(path)

    async def call(
        self, method: str, path: str, role: Role | None = Role.ADMIN, json: Any = None
    ) -> httpx.Response:
        """The answer to any call."""
        async with self.client(role) as client:
            return await client.request(method, path, json=json)

    @asynccontextmanager
    async def browser(self, role: Role = Role.OPERATOR) -> AsyncIterator[httpx.AsyncClient]:
        """A browser that has logged in by a link, on our own pages."""
        async with self.client(headers=OWN_PAGE) as client:
            link = await self.controls.access.create_link(role, "root", 60.0)
            answer = await client.get(f"/login/{link}")
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            yield client


Gather = Callable[[], Awaitable[Status]]


async def web_on(
    database: Database,
    directory: Path,
    status: Gather | None = None,
    *,
    with_tokens: bool = True,
    hooks: Sequence[Hook] = (),
) -> Web:
    """The site on a database; ``status`` takes the look that the status page shows."""
    late = LateHostDowntimes(settings_on(database, directory), database)
    site = site_on(database, directory, hooks=hooks, late=late)
    access = site.controls.access
    roles = list(Role) if with_tokens else []
    tokens = {role: (await access.create_token(role.value, role, "root"))[1] for role in roles}
    app = build_site(replace(site, status=status or site.status))
    return Web(app, scene_on(database, directory), site.controls, tokens, late)


def site_on(
    database: Database,
    directory: Path,
    agents: APIRouter | None = None,
    hooks: Sequence[Hook] = (),
    late: LateHostDowntimes | None = None,
) -> Site:
    """What the site is made of, without checks and metrics."""
    controls = controls_on(database, directory, hooks, late)
    messages = MessageLedger(database)
    return Site(
        readiness=Readiness({}),
        metrics=OwnMetrics([]),
        status=partial(look, controls),
        gate=Gate(controls.access, 60.0),
        controls=controls,
        hub=Hub(messages),
        messages=messages,
        listen_host="control.example",
        agents=agents,
    )


@dataclass(frozen=True)
class AroundDowntimes:
    """What of a control server downtimes need."""

    settings: Settings
    database: Database
    downtimes: LateHostDowntimes
    broadcast: Broadcast
    events: EventQueue


def desk_on(database: Database, settings: Settings, late: LateHostDowntimes) -> LateDowntimeDesk:
    """The desk of downtimes."""
    broadcast = Broadcast(database, MessageLedger(database))
    around = AroundDowntimes(settings, database, late, broadcast, EventQueue(database))
    return LateDowntimeDesk(around)


def controls_on(
    database: Database,
    directory: Path,
    hooks: Sequence[Hook] = (),
    late: LateHostDowntimes | None = None,
) -> Controls:
    """All that the API and the pages work on."""
    scene = scene_on(database, directory)
    access, windows = AccessLedger(database), WindowLedger(database)
    catalogue = Catalogue([*outcome_entries(), *(hook.entry() for hook in hooks)])
    settings = settings_on(database, directory)
    core = build_core(settings, database)
    outbox = make_outbox(settings, database)
    evaluator = make_evaluator(settings, database, outbox, NoPlaceDowntimes())
    return Controls(
        kinds=scene.kinds,
        jobs=JobLedger(database, scene.kinds, catalogue.knows),
        queue=scene.queue,
        servers=Servers(database),
        agents=Agents(database),
        windows=windows,
        window_source=WindowSource(windows, NoDowntimes()),
        drills=DrillLedger(database),
        outbox=evaluator.outbox,
        contacts=address_book(settings),
        notify_rules=notify_rules(settings),
        evaluator=evaluator,
        metrics_now=metrics_now,
        delete_rule=evaluator.rules.delete,
        objects=object_archive(settings, database),
        prove=no_proof,
        flag_ledger=core.flag_ledger,
        modules=ModuleLedger(database),
        credentials=CredentialLedger(database),
        access=access,
        backups=directory / "backups",
        save_job=scene.jobs.save,
        delete_job=scene.jobs.delete,
        settings=core.setting_ledger,
        configuration=core.configuration,
        flags=core.flags,
        tenants=core.tenants,
        provisioner=core.provisioner,
        events=EventQueue(database),
        catalogue=catalogue,
        detection=DetectionLedger(database),
        hooks=Intake(hooks, EventQueue(database)),
        downtimes=desk_on(database, settings, late or LateHostDowntimes(settings, database)),
    )


def settings_on(database: Database, directory: Path) -> Settings:
    """Tenants' databases are named after the test's own, and caches remember nothing."""
    prefix = str(psycopg.conninfo.conninfo_to_dict(database.conninfo).get("dbname", "none"))
    return Settings.model_validate(
        {
            "server": {"data_dir": directory},
            "cache": {"configuration": 0, "flags": 0},
            "backup": {"objects": {"repository": str(directory / "objects")}},
            "contact": [{"name": "chat", "url": "https://hooks.example/T0/secret"}],
            "notifications": {"recipients": ["ops@example.org", "chat"]},
            "notify": [{"jobs": ["n*"], "recipients": ["default", "https://hooks.example/s"]}],
            "tenants": {"database_prefix": f"{prefix}_w_", "delete_after": 0},
        }
    )


async def metrics_now() -> MetricPage:
    """Two disks, of which one is too full."""
    series = [(95.0, {"host": "db1", "path": '/a"b'}), (10.0, {"host": "db2", "path": "/"})]
    return page(*series)


async def no_proof() -> dict[str, Any]:
    """A report that says nothing."""
    return sealed(ProofReport(datetime.now(UTC), "host", "1", ()).as_dict(), "")


async def look(controls: Controls) -> Status:
    """What the status page shows of a site without backups and servers."""
    jobs, runs = await controls.jobs.list_all(), await controls.queue.list_runs()
    return Status(datetime.now(UTC), [], jobs, runs, [], [], [])
