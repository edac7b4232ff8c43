"""Alerts as the settings want them."""

from leitstand.alerts import (
    AlertLedger,
    AlertSpec,
    Evaluator,
    PlaceDowntimes,
    RuleLedger,
    SilenceLedger,
    parse_rule,
)
from leitstand.app.notification_wiring import audience_of
from leitstand.execution import Kinds
from leitstand.jobs import JobLedger, JobSpec
from leitstand.notifications import Outbox
from leitstand.protection import (
    create_own_jobs,
    create_rules,
    default_rules,
    remove_evaluation,
    watch_specs,
)
from leitstand.settings import Settings
from leitstand.store.database import Database


def make_evaluator(
    settings: Settings, database: Database, outbox: Outbox, downtimes: PlaceDowntimes
) -> Evaluator:
    """What evaluates the rules of this database."""
    return Evaluator(
        database,
        RuleLedger(database),
        AlertLedger(database),
        SilenceLedger(database),
        outbox,
        audience_of(settings),
        downtimes=downtimes,
        listened=JobLedger(database, Kinds([])).listened_to,
    )


def watch_jobs(settings: Settings) -> list[JobSpec]:
    """The jobs that evaluate and send, as the settings want them."""
    return watch_specs(settings.alerts.every, evaluate=settings.alerts.enabled)


def own_rules(settings: Settings) -> list[AlertSpec]:
    """Leitstand's rules about itself, as far as the settings want them."""
    wanted = settings.alerts.default_rules
    return default_rules(backups=settings.protection.enabled) if wanted else []


async def create_own_watch(settings: Settings, jobs: JobLedger, rules: RuleLedger) -> None:
    """Create the jobs that evaluate and send, and the rules about Leitstand, where missing.

    The job that evaluates is removed if the settings do not want it, so that it is there again when
    they do.
    """
    await create_own_jobs(jobs, watch_jobs(settings))
    if not settings.alerts.enabled:
        await remove_evaluation(jobs)
    await create_rules(rules, own_rules(settings))


async def apply_alert_entries(settings: Settings, rules: RuleLedger) -> None:
    """Save the ``[[alert]]`` tables of the configuration file; raises AlertRuleError.

    Nothing is removed, since several servers may have different files.
    """
    await rules.save_all([parse_rule(entry) for entry in settings.alert], managed=True)
