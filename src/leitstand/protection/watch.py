"""The jobs and alert rules by which Leitstand watches itself; made where they are missing."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from leitstand.alerts import AlertSpec, RuleLedger, parse_rule
from leitstand.duration import format_duration
from leitstand.errors import ConflictError, LeitstandError
from leitstand.jobs import JobLedger, JobSpec, Misfire, Overlap, Retry, WindowPolicy

log = structlog.get_logger(__name__)

EVALUATE = "evaluate-alerts"
SEND = "send-notifications"
WATCH_JOBS = (EVALUATE, SEND)

HOUR, DAY = 3600, 86400

RULES: tuple[Mapping[str, Any], ...] = (
    {
        "name": "self-drill-failed",
        "metric_name": "restore_drill_last_failed",
        "comparison": "gt",
        "threshold": 0,
        "description": "The last restore drill failed: `leitstand drill history` says why.",
    },
    {
        "name": "self-backup-overdue",
        "metric_name": "backup_postgres_age_seconds",
        "comparison": "gt",
        "threshold": 26 * HOUR,
        "description": "The newest sound backup is more than 26 hours old.",
    },
    {
        "name": "self-backup-missing",
        "metric_name": "backup_postgres_age_seconds",
        "absent": True,
        "for": 2 * HOUR,
        "description": "There is no sound backup at all.",
    },
    {
        "name": "self-backup-damaged",
        "metric_name": "backup_postgres_generations",
        "label_filters": {"state": "damaged"},
        "comparison": "gt",
        "threshold": 0,
        "description": "A backup is damaged: `leitstand backup postgres list` says which.",
    },
    {
        "name": "self-verify-overdue",
        "metric_name": "backup_postgres_verified_age_seconds",
        "comparison": "gt",
        "threshold": 26 * HOUR,
        "description": "No backup was verified for 26 hours.",
    },
    {
        "name": "self-drill-overdue",
        "metric_name": "backup_postgres_drilled_age_seconds",
        "comparison": "gt",
        "threshold": 9 * DAY,
        "description": "No backup has passed a restore drill for nine days.",
    },
    {
        "name": "self-drill-missing",
        "metric_name": "backup_postgres_drilled_age_seconds",
        "absent": True,
        "for": 2 * HOUR,
        "description": "No backup has ever passed a restore drill: none is proven.",
    },
    {
        "name": "self-objective-broken",
        "metric_name": "backup_postgres_objective_breached",
        "comparison": "gt",
        "threshold": 0,
        "for": 2 * HOUR,
        "description": "A promise of [objectives] is broken: `leitstand doctor` says how.",
    },
    {
        "name": "self-test-failed",
        "metric_name": "backup_postgres_selftest_last_success",
        "comparison": "lt",
        "threshold": 1,
        "for": 2 * HOUR,
        "description": "The checker of backups did not find planted damage, or was never tried.",
    },
    {
        "name": "self-test-overdue",
        "metric_name": "backup_postgres_selftest_age_seconds",
        "comparison": "gt",
        "threshold": 9 * DAY,
        "description": "The checker of backups was not tried for nine days.",
    },
    {
        "name": "self-objects-overdue",
        "metric_name": "backup_objects_age_seconds",
        "comparison": "gt",
        "threshold": 8 * DAY,
        "description": "The newest complete snapshot of objects is more than eight days old.",
    },
    {
        "name": "self-objects-check-overdue",
        "metric_name": "backup_objects_checked_age_seconds",
        "comparison": "gt",
        "threshold": 35 * DAY,
        "description": "The backups of objects were not checked for 35 days.",
    },
    {
        "name": "self-objects-drill-overdue",
        "metric_name": "backup_objects_drilled_age_seconds",
        "comparison": "gt",
        "threshold": 35 * DAY,
        "description": "No snapshot of objects has passed a restore drill for 35 days.",
    },
    {
        "name": "self-reconcile-missing",
        "metric_name": "storage_reconcile_objects",
        "label_filters": {"sort": "missing"},
        "comparison": "gt",
        "threshold": 0,
        "description": "Objects are gone that rows name: the last reconciliation lists them.",
    },
    {
        "name": "self-reconcile-incomplete",
        "metric_name": "storage_reconcile_complete",
        "comparison": "lt",
        "threshold": 1,
        "description": "The last reconciliation did not see the whole store.",
    },
    {
        "name": "self-reconcile-overdue",
        "metric_name": "storage_reconcile_age_seconds",
        "comparison": "gt",
        "threshold": 35 * DAY,
        "description": "Objects and rows were not compared for 35 days.",
    },
    {
        "name": "self-scrub-overdue",
        "metric_name": "storage_scrub_age_seconds",
        "comparison": "gt",
        "threshold": 35 * DAY,
        "description": "No objects were read again for 35 days.",
    },
    {
        "name": "self-clock-ahead",
        "metric_name": "leitstand_core_server_clock_skew_seconds",
        "comparison": "gt",
        "threshold": 5,
        "description": "A control server's clock is ahead of the database's.",
    },
    {
        "name": "self-clock-behind",
        "metric_name": "leitstand_core_server_clock_skew_seconds",
        "comparison": "lt",
        "threshold": -5,
        "description": "A control server's clock is behind the database's.",
    },
    {
        "name": "self-schedule-broken",
        "metric_name": "leitstand_core_job_schedule_error",
        "comparison": "gt",
        "threshold": 0,
        "description": "A job's schedule cannot be computed: it does not run.",
    },
    {
        "name": "self-notifications-failed",
        "metric_name": "leitstand_core_notifications",
        "label_filters": {"status": "failed"},
        "comparison": "gt",
        "threshold": 0,
        "description": "Messages to people failed for good: `leitstand notify list`.",
    },
)
"""What is wrong with Leitstand itself. That runs fail is told by the end of the run.

What is not done at all (no objects, no scrubs) has no series, and its rules say nothing.
"""

OF_BACKUPS = ("self-backup", "self-verify", "self-drill", "self-objective", "self-test")
"""How the names of those begin that mean something while Leitstand backs itself up."""


def watch_specs(evaluate_every: float, *, evaluate: bool) -> list[JobSpec]:
    """The jobs: neither maintenance windows nor what was missed concern them."""
    specs = [_spec(SEND, 300.0)]
    return [_spec(EVALUATE, evaluate_every), *specs] if evaluate else specs


def _spec(kind: str, every: float) -> JobSpec:
    return JobSpec(
        name=kind,
        kind=kind,
        every=format_duration(every),
        misfire=Misfire.SKIP,
        overlap=Overlap.SKIP,
        window_policy=WindowPolicy.RUN,
        retry=Retry(max_attempts=1),
        timeout=max(60.0, every),
        tags=("watch",),
    )


def default_rules(*, backups: bool) -> list[AlertSpec]:
    """The rules; those about backups only where Leitstand takes its own."""
    common = {"recipient": "default", "repeat": DAY}
    wanted = (r for r in RULES if backups or not r["name"].startswith(OF_BACKUPS))
    return [parse_rule({**common, **rule}) for rule in wanted]


async def remove_evaluation(jobs: JobLedger) -> None:
    """Remove the job that evaluates, if there is one; a run that is active stays, and its job."""
    if EVALUATE not in {job.name for job in await jobs.list_all()}:
        return
    try:
        await jobs.delete(EVALUATE)
    except LeitstandError as error:  # it refuses to evaluate when it runs
        log.warning("a job stays though alerts are off", job=EVALUATE, error=error.message)
    else:
        log.info("alerts are off: a job is removed", job=EVALUATE)


def refuse_watch_deletion(name: str, specs: Sequence[JobSpec]) -> None:
    """Raise ConflictError for one of these jobs: the next start would bring it back."""
    if name in {spec.name for spec in specs}:
        raise ConflictError(
            f"{name} is one of the jobs by which Leitstand watches and tells",
            remedy=f"To stop it: leitstand job disable {name}.",
        )


def refuse_rule_deletion(name: str, wanted: Sequence[AlertSpec]) -> None:
    """Raise ConflictError for one of these rules: the next start would bring it back."""
    if name in {rule.full_name for rule in wanted}:
        raise ConflictError(
            f"{name} is one of the rules by which Leitstand watches itself",
            remedy=f"To stop it: leitstand alert disable {name}. To do without all of them, set "
            "alerts.default_rules = false; then they can be deleted.",
        )


async def create_rules(rules: RuleLedger, wanted: Sequence[AlertSpec]) -> None:
    """Create the rules that are missing.

    The others are left alone: whoever changed or disabled one had a reason.
    """
    known = {rule.name for rule in await rules.list_all()}
    missing = [rule for rule in wanted if rule.full_name not in known]
    if missing:
        await rules.save_all(missing, managed=False)
        log.info("Leitstand's own alert rules created", rules=[rule.name for rule in missing])
