"""Leitstand's own alert rules and the jobs that evaluate and send."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leitstand.alerts import (
    AlertsOffError,
    EvaluateAlertsParams,
    MetricPage,
    RuleLedger,
    Series,
)
from leitstand.app.alert_wiring import create_own_watch
from leitstand.app.control import Control, open_control
from leitstand.app.job_changes import delete_job
from leitstand.app.rule_deletion import delete_rule
from leitstand.errors import ConflictError
from leitstand.execution import Result, RunFacts
from leitstand.protection import WATCH_JOBS, default_rules
from leitstand.settings import load_settings
from leitstand.store.database import Database
from tests.alerts.scene import Scene as AlertScene
from tests.notifications.test_delivery import Silent


async def test_they_are_made_where_they_are_missing(
    database: Database, conninfo: str, tmp_path: Path
) -> None:
    """Who changes or disables one had a reason; deleting one would be made good by a start."""
    file = tmp_path / "leitstand.toml"
    file.write_text(f'[database]\nurl = "{conninfo}"\n')
    async with open_control(load_settings(file, {})) as control:
        rules = control.evaluator.rules
        for _ in range(2):
            await create_own_watch(control.settings, control.jobs, rules)
            jobs = {job.name: job.enabled for job in await control.jobs.list_all()}
            assert set(jobs) == set(WATCH_JOBS)
            await control.jobs.set_enabled("send-notifications", enabled=False)
            await rules.enable("self-drill-failed", enabled=False)
        assert jobs == {"evaluate-alerts": True, "send-notifications": False}
        assert not (await rules.get("self-drill-failed")).spec.enabled
        for refused in (
            delete_job(control, "evaluate-alerts"),
            delete_rule(control, "self-drill-failed"),
        ):
            with pytest.raises(ConflictError, match="by which Leitstand"):
                await refused


async def test_who_does_without_them_can_delete_them(conninfo: str, tmp_path: Path) -> None:
    """Without alerts the job that evaluates goes by itself, and one of another name refuses."""
    file = tmp_path / "leitstand.toml"
    file.write_text(f'[database]\nurl = "{conninfo}"\n')
    async with open_control(load_settings(file, {})) as control:
        await create_own_watch(control.settings, control.jobs, control.evaluator.rules)
    file.write_text(f"{file.read_text()}[alerts]\nenabled = false\ndefault_rules = false\n")
    async with open_control(load_settings(file, {})) as control:
        with pytest.raises(AlertsOffError):
            await evaluated(control)
        for rule in await control.evaluator.rules.list_all():
            await delete_rule(control, rule.name)
        await create_own_watch(control.settings, control.jobs, control.evaluator.rules)
        assert await control.evaluator.rules.list_all() == []
        assert [job.name for job in await control.jobs.list_all()] == ["send-notifications"]
    file.write_text(file.read_text().replace("enabled = false", "enabled = true"))
    async with open_control(load_settings(file, {})) as control:
        await create_own_watch(control.settings, control.jobs, control.evaluator.rules)
        assert {job.name for job in await control.jobs.list_all()} == set(WATCH_JOBS)
        await evaluated(control)


async def evaluated(control: Control) -> Result:
    """Carry out the kind that evaluates."""
    kind = control.kinds.executor("evaluate-alerts")
    facts = RunFacts(1, "mine", kind.kind, 1, "", datetime.now(UTC), 1)
    return await kind.execute(EvaluateAlertsParams(), facts, Silent())


def test_without_backups_no_rule_is_about_them() -> None:
    names = {rule.full_name for rule in default_rules(backups=False)}
    assert names == {
        *("self-clock-ahead", "self-clock-behind"),
        *("self-schedule-broken", "self-notifications-failed"),
        *("self-objects-overdue", "self-objects-check-overdue", "self-objects-drill-overdue"),
        *("self-reconcile-missing", "self-reconcile-incomplete", "self-reconcile-overdue"),
        "self-scrub-overdue",
    }


async def test_a_fresh_installation_is_quiet(
    database: Database, conninfo: str, tmp_path: Path
) -> None:
    """Nothing has failed yet, so nothing may fire; what is missing has two hours to come."""
    scene = AlertScene(database, datetime.now(UTC))
    await RuleLedger(scene.database).save_all(default_rules(backups=True), managed=False)
    file = tmp_path / "leitstand.toml"
    file.write_text(f'[database]\nurl = "{conninfo}"\n[server]\ndata_dir = "{tmp_path}/var"\n')
    async with open_control(load_settings(file, {})) as control:
        found = await scene.look(await control.all_metrics.look())
    assert {verdict.rule.name: verdict.phase for verdict in found.verdicts} == {
        "self-backup-missing": "pending",
        "self-drill-missing": "pending",
        "self-objective-broken": "pending",
        "self-test-failed": "pending",
    }


async def test_each_rule_is_about_a_metric_that_exists(
    database: Database, conninfo: str, tmp_path: Path
) -> None:
    """And each fires when that is as bad as it can be; a misspelt name would never say anything."""
    file = tmp_path / "leitstand.toml"
    file.write_text(f'[database]\nurl = "{conninfo}"\n[server]\ndata_dir = "{tmp_path}/var"\n')
    scene, worst = AlertScene(database, datetime.now(UTC)), MetricPage()
    rules = default_rules(backups=True)
    async with open_control(load_settings(file, {})) as control:
        page = await control.all_metrics.look()
        known = {rule.metric_name for rule in rules if page.series(rule.metric_name) is not None}
    assert {rule.metric_name for rule in rules} - known == {
        # Those of a repository of objects are there once one is known.
        "backup_objects_age_seconds",
        "backup_objects_checked_age_seconds",
        "backup_objects_drilled_age_seconds",
    }
    for rule in rules:
        if rule.threshold is not None:
            beyond = 1 if rule.comparison == "gt" else -1
            labels = {**rule.label_filters, "rule": rule.full_name}
            worst.add(rule.metric_name, Series(labels, rule.threshold + beyond))
    await RuleLedger(database).save_all(rules, managed=False)
    await scene.look(worst)
    scene.pass_by(3 * 3600)
    found = {verdict.rule.name for verdict in (await scene.look(worst)).verdicts}
    assert found >= {rule.full_name for rule in rules if not rule.absent}
