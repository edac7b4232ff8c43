"""A whole control server: loop, HTTP, self-protection, the embedded database's watch."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from leitstand import __version__
from leitstand.access import Gate
from leitstand.app.alert_wiring import apply_alert_entries, create_own_watch
from leitstand.app.configuration_check import check_configuration
from leitstand.app.control import Control, open_control
from leitstand.app.core_wiring import hear_of_changes
from leitstand.app.downtime_desk import LateDowntimeDesk
from leitstand.app.ending import Ending
from leitstand.app.event_wiring import offer_detection
from leitstand.app.hook_wiring import make_intake
from leitstand.app.job_changes import delete_job, save_job
from leitstand.app.jobs_as_code import apply_configuration
from leitstand.app.login import first_login_link
from leitstand.app.notification_wiring import address_book, notify_rules
from leitstand.app.proof import prove
from leitstand.app.rule_deletion import delete_rule
from leitstand.app.status import gather_status
from leitstand.app.worker_call import worker_call
from leitstand.archive import GenerationState, list_generations
from leitstand.collecting import collecting_seldom
from leitstand.duties import Duty, going_on
from leitstand.events.detection import DetectionLedger
from leitstand.events.webhooks import WebhookMetrics
from leitstand.flags import FlagMetrics
from leitstand.health import Check, Readiness
from leitstand.health.checks import flags_fresh, loop_alive, room_for_backups
from leitstand.jobs import (
    AgentDesk,
    ControlServer,
    Domain,
    LoopMetrics,
    LoopSettings,
    ReportWriter,
    Runner,
    Spool,
)
from leitstand.live import Hub, Relay
from leitstand.modules import CredentialLedger
from leitstand.protection import (
    Evidence,
    ProtectedJobs,
    ProtectionDuty,
    ProtectionTimes,
    protection_specs,
)
from leitstand.settings import LoadedSettings, Settings
from leitstand.store.database import Database
from leitstand.web import Controls, Site, agent_api, bind, build_site, serving

if TYPE_CHECKING:
    from leitstand.app.downtime_wiring import DowntimeFeed

AGENT_POOL = 4
"""Connections for what agents ask; those that wait hold none."""

WATCH_INTERVAL = 2.0
"""Seconds between two looks at the embedded database."""


Announce = Callable[[str, str | None], None]
"""Told the address of the pages, and a link to log in if nobody has a way in yet."""


async def serve(loaded: LoadedSettings, announce: Announce) -> int:
    """Run a control server until SIGTERM or SIGINT; a second signal kills what still runs.

    ``announce`` is called once it answers. Returns how many runs could not be ended.
    Raises ClusterError if the embedded database does not stop.
    """
    check_configuration(loaded)
    ending = Ending(loaded.settings.loop.shutdown_grace)
    ending.listen()
    async with AsyncExitStack() as stack:
        stack.enter_context(collecting_seldom())
        server = await ending.unless_asked(_started(loaded, announce, ending, stack))
        return 0 if server is None else await server.run(ending.stop)


async def _started(
    loaded: LoadedSettings,
    announce: Announce,
    ending: Ending,
    stack: AsyncExitStack,
) -> ControlServer:
    """Open and begin all that a server needs; ``stack`` closes it."""
    listener = stack.enter_context(bind(*loaded.settings.server.address))
    control = await stack.enter_async_context(open_control(loaded, ending.left))
    ending.hurry = control.children.kill_all
    await offer_detection(control.settings, control.jobs)
    await apply_configuration(control)
    await apply_alert_entries(control.settings, control.evaluator.rules)
    server = _control_server(control)
    agents = Database(control.database.conninfo, pool_size=AGENT_POOL)
    desk = _agent_desk(control, server, await stack.enter_async_context(agents))
    hub = Hub(control.messages)
    feed = await _downtime_feed(control)
    site = build_site(_site(control, server, desk, hub, feed))
    await stack.enter_async_context(serving(site, listener))
    duties = await _duties(control, server, hub)
    duties += feed.duties() if feed is not None else []
    await stack.enter_async_context(going_on(duties))
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    announce(address, await first_login_link(control))
    return server


def _control_server(control: Control) -> ControlServer:
    settings = control.settings
    reports = ReportWriter(control.queue)
    in_worker = worker_call(control.loaded, control.children, settings.loop.shutdown_grace)
    domain = Domain(
        database=control.database,
        jobs=control.jobs,
        queue=control.queue,
        servers=control.servers,
        runner=Runner(control.kinds, control.queue, reports, in_worker, control.children),
        reports=reports,
        spool=Spool(settings.server.data_dir / "spool"),
        downtimes=control.downtimes,
        tell_event=lambda event: control.event_news.add(event.as_dict()),
    )
    return ControlServer(domain, _loop_settings(settings), settings.server.instance, __version__)


def _loop_settings(settings: Settings) -> LoopSettings:
    loop = settings.loop
    return LoopSettings(
        tick=loop.tick,
        max_concurrent_runs=loop.max_concurrent_runs,
        heartbeat=loop.heartbeat,
        stale_after=loop.stale_after,
        shutdown_grace=loop.shutdown_grace,
        late_grace=loop.misfire_grace,
    )


def _agent_desk(control: Control, server: ControlServer, database: Database) -> APIRouter:
    """The agents' API, on connections of its own: they and the loop cannot starve each other."""
    desk = AgentDesk(
        control.queue.over(database),
        server.board,
        _loop_settings(control.settings),
        draining=lambda: server.draining,
        on_recorded=server.recorded,
    )
    return agent_api(desk, CredentialLedger(database))


async def _downtime_feed(control: Control) -> "DowntimeFeed | None":
    """The consumer of downtimes, if a source is set."""
    if not control.settings.downtimes.source.get_secret_value():
        return None
    # Imported here: the drivers of queues and other databases take 0.5 s to load.
    from leitstand.app.downtime_wiring import make_feed  # noqa: PLC0415

    return await make_feed(control)


def _site(
    control: Control,
    server: ControlServer,
    agents: APIRouter,
    hub: Hub,
    feed: "DowntimeFeed | None",
) -> Site:
    settings = control.settings
    checks: dict[str, Check] = {
        "database": control.database.round_trip,
        "queue": control.queue.readable,
        "loop": loop_alive(lambda: server.passes.last_completed, settings.loop.tick),
        "backup_room": room_for_backups(settings.backup.postgres.directory),
        "flags": flags_fresh(control.core.flags.age, settings.cache.flags),
    }
    controls = site_controls(control)
    control.metrics.add(
        LoopMetrics(server), FlagMetrics(control.core.flags), WebhookMetrics(controls.hooks)
    )
    if feed is not None:
        control.metrics.add(feed.metrics)
    return Site(
        readiness=Readiness(checks),
        metrics=control.all_metrics,
        status=lambda: gather_status(control),
        gate=Gate(control.access, settings.access.session),
        controls=controls,
        hub=hub,
        messages=control.messages,
        listen_host=settings.server.address[0],
        metrics_open=settings.access.metrics_open,
        agents=agents,
    )


def site_controls(control: Control) -> Controls:
    """What the API and the pages work on."""
    return Controls(
        kinds=control.kinds,
        jobs=control.jobs,
        queue=control.queue,
        servers=control.servers,
        agents=control.agents,
        windows=control.windows,
        window_source=control.window_source,
        drills=control.drills,
        objects=control.objects,
        prove=partial(_sealed_proof, control),
        access=control.access,
        outbox=control.outbox,
        contacts=address_book(control.settings),
        notify_rules=notify_rules(control.settings),
        evaluator=control.evaluator,
        metrics_now=control.all_metrics.look,
        delete_rule=partial(delete_rule, control),
        backups=control.archive.directory,
        save_job=partial(save_job, control),
        delete_job=partial(delete_job, control),
        settings=control.core.setting_ledger,
        configuration=control.core.configuration,
        flags=control.core.flags,
        flag_ledger=control.core.flag_ledger,
        modules=control.modules,
        credentials=control.credentials,
        tenants=control.core.tenants,
        provisioner=control.core.provisioner,
        events=control.events,
        catalogue=control.catalogue,
        detection=DetectionLedger(control.database),
        hooks=make_intake(control.settings, control.events),
        downtimes=LateDowntimeDesk(control),
    )


async def _sealed_proof(control: Control) -> Mapping[str, Any]:
    return (await prove(control))[1]


async def _duties(control: Control, server: ControlServer, hub: Hub) -> list[Duty]:
    """What goes on beside the loop."""
    relay = Relay(control.database.conninfo, control.messages, hub)
    await create_own_watch(control.settings, control.jobs, control.evaluator.rules)
    duties: list[Duty] = [
        relay.run,
        control.news.run,
        control.event_news.run,
        partial(control.dispatcher.run, control.database.conninfo),
        partial(hear_of_changes, control.database, control.core),
        control.core.provisioner.run,
    ]
    if control.settings.protection.enabled:
        duty = _protection(control)
        await duty.create_jobs()
        server.on_run_ended = duty.wake
        duties.append(duty.run)
    if control.embedded is not None:
        duties.append(partial(control.embedded.watch, WATCH_INTERVAL))
    return duties


def _protection(control: Control) -> ProtectionDuty:
    times = control.settings.protection
    specs = protection_specs(
        ProtectionTimes(
            times.full,
            times.incremental,
            times.rotate,
            times.drill,
            times.selftest,
            times.prune,
        ),
        times.drill_older,
    )
    directory = control.archive.directory

    def evidence() -> Evidence:
        sound = [g for g in list_generations(directory) if g.state is GenerationState.COMPLETE]
        return Evidence(
            backup=bool(sound), drill=any(generation.drilled_at for generation in sound)
        )

    return ProtectionDuty(
        control.database,
        ProtectedJobs(control.jobs, control.queue, specs),
        evidence,
        control.settings.loop.tick,
    )
