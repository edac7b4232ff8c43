"""Alert rules see what modules show; a module that is down is no reason to call an alert over."""

from pathlib import Path

import pytest

from leitstand.alerts import parse_rule
from leitstand.alerts.transition import GONE_AFTER
from leitstand.app.control import open_control
from leitstand.settings import load_settings
from tests.metrics.targets import answer, serving


async def test_a_rule_over_a_modules_metric(
    conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 17."""
    monkeypatch.chdir(tmp_path)
    environment = {"LEITSTAND_DATABASE__URL": conninfo, "LEITSTAND_METRICS__CACHE": "0s"}
    rules = (
        {"name": "full", "metric_name": "leitstand_module_web_1_used", "threshold": 9},
        {"name": "down", "metric_name": "leitstand_module_up", "comparison": "lt", "threshold": 1},
    )
    async with open_control(load_settings(None, environment)) as control:
        for rule in rules:
            spec = parse_rule({"comparison": "gt", "recipient": "log", **rule})
            await control.evaluator.rules.save_all([spec], managed=False)
        await control.modules.register("web-1", "1.0")
        async with serving(answer(b'used{disk="\\\\a"} 10\n')) as url:
            await control.modules.set_source("web-1", url)
            found = await control.evaluator.evaluate(await control.all_metrics.look())
            assert [(v.rule.name, v.value) for v in found.fired] == [("full", 10)]
            assert found.fired[0].labels == {"disk": "\\a"}
        found = await control.evaluator.evaluate(await control.all_metrics.look())
        assert [(v.rule.name, v.labels) for v in found.fired] == [("down", {"module": "web-1"})]
        assert found.resolved == ()


async def test_what_a_deleted_module_showed_is_over(
    conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fired until its rule was deleted: nothing was known of the metric, as if it were down."""
    monkeypatch.chdir(tmp_path)
    environment = {"LEITSTAND_DATABASE__URL": conninfo, "LEITSTAND_METRICS__CACHE": "0s"}
    rule = {"metric_name": "leitstand_module_web_1_used", "threshold": 9, "comparison": "gt"}
    async with open_control(load_settings(None, environment)) as control:
        spec = parse_rule({"name": "full", "recipient": "log", **rule})
        await control.evaluator.rules.save_all([spec], managed=False)
        for module in ("web-1", "web-2"):
            await control.modules.register(module, "1.0")
        now = await control.evaluator.alerts.now()
        async with serving(answer(b"used 10\n")) as url:
            await control.modules.set_source("web-1", url)
            await control.evaluator.evaluate(await control.all_metrics.look(), now=now)
        await control.modules.delete("web-1")
        for moment in (now, now + GONE_AFTER):
            page = await control.all_metrics.look()
            found = await control.evaluator.evaluate(page, now=moment)
        assert [(v.rule.name, v.reason) for v in found.resolved] == [("full", "the series is gone")]
