"""Alert rules see what modules show; a module that is down is no reason to call an alert over."""

from pathlib import Path

import pytest

from leitstand.alerts import parse_rule
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
