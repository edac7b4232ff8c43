"""Alerts, their rules and silences over HTTP: what each role may do, and what comes of it."""

from typing import Any

import pytest

from leitstand.access import Role
from tests.alerts.scene import METRIC
from tests.web.scene import Web, metrics_now

API = "/api/v1"
FULL = {"metric_name": METRIC, "comparison": "gt", "threshold": 90, "recipient": "ops@example.org"}


@pytest.fixture
async def alarmed(web: Web) -> Web:
    """A site with one rule, and one alert that fires."""
    await web.call("PUT", f"{API}/alert-rules/full", json=FULL)
    await web.controls.evaluator.evaluate(await metrics_now())
    return web


async def items(web: Web, path: str) -> list[dict[str, Any]]:
    answer = await web.get(f"{API}/{path}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_a_rules_life(web: Web) -> None:
    made = await web.call("PUT", f"{API}/alert-rules/full", json={**FULL, "for": "5m"})
    assert made.status_code == 200, made.text
    assert made.json().items() >= {"name": "full", "for": 300.0, "enabled": True}.items()
    assert (await web.get(f"{API}/alert-rules/full")).json() == made.json()
    assert (await web.get(f"{API}/alert-rules/{made.json()['id']}")).json() == made.json()
    assert await items(web, "alert-rules") == [made.json()]
    off = await web.call("POST", f"{API}/alert-rules/full/disable", Role.OPERATOR)
    assert off.json()["enabled"] is False
    assert (await web.call("POST", f"{API}/alert-rules/full/enable")).json()["enabled"] is True
    assert (await web.call("DELETE", f"{API}/alert-rules/full")).status_code == 204
    assert (await web.get(f"{API}/alert-rules/full")).status_code == 404
    assert (await web.call("DELETE", f"{API}/alert-rules/full")).status_code == 404


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"comparison": "eq"}, "comparison"),
        ({"metric_name": ""}, "metric_name"),
        ({"recipient": " "}, "recipient"),
        ({"threshold": None}, "threshold"),
        ({"name": "other"}, "another name"),
        ({"description": "a\0b"}, "NUL"),
        ({"recipient": "https://***"}, "masked"),
        ({"wrong": 1}, "wrong"),
    ],
)
async def test_a_rule_that_cannot_be(web: Web, change: dict[str, Any], said: str) -> None:
    answer = await web.call("PUT", f"{API}/alert-rules/full", json={**FULL, **change})
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


async def test_a_recipients_url_is_shown_by_its_scheme_alone(web: Web) -> None:
    """Case 44: a token may stand anywhere in it."""
    secret = {**FULL, "recipient": "https://hooks.example/T0/hidden"}
    for path in ("alert-rules/full", "alert-rules"):
        await web.call("PUT", f"{API}/alert-rules/full", json=secret)
        assert "hidden" not in (await web.get(f"{API}/{path}")).text
    assert (await web.controls.evaluator.rules.get("full")).spec.recipient == secret["recipient"]


async def test_a_rule_is_previewed_against_what_is_measured_now(web: Web) -> None:
    path = f"{API}/alert-rules/preview"
    seen = (await web.call("POST", path, Role.OPERATOR, json=FULL)).json()
    assert (seen["series"], seen["total"]) == (2, 1)
    assert seen["items"][0].items() >= {"value": 95.0, "state": "firing", "rule_id": 0}.items()
    waiting = await web.call("POST", path, json={**FULL, "for": "5m", "enabled": False})
    assert waiting.json()["items"][0]["state"] == "pending"
    none = await web.call("POST", path, json={**FULL, "metric_name": "nothing"})
    assert none.json() == {"series": None, "total": 0, "items": []}
    assert await items(web, "alerts") == await items(web, "alert-rules") == []
    assert await items(web, "notifications") == []


async def test_a_preview_knows_what_fires_already(alarmed: Web) -> None:
    seen = await alarmed.call("POST", f"{API}/alert-rules/preview", json={**FULL, "name": "full"})
    assert seen.json()["items"][0]["suppressed"] is True


async def test_an_alert_is_found_and_acknowledged(alarmed: Web) -> None:
    (alert,) = await items(alarmed, "alerts")
    assert alert["labels"] == {"host": "db1", "path": '/a"b'}
    assert (await alarmed.get(f"{API}/alerts/{alert['id']}")).json() == alert
    for wanted, count in (
        ("state=firing", 1),
        ("state=resolved", 0),
        ("rule=full&label=host=db1", 1),
        ("rule=other", 0),
        ('label=path=/a"b', 1),
        ("label=host=db2", 0),
    ):
        assert len(await items(alarmed, f"alerts?{wanted}")) == count, wanted
    known = await alarmed.call("POST", f"{API}/alerts/{alert['id']}/acknowledge", Role.OPERATOR)
    assert known.json()["acknowledged_by"] == "operator"
    for wrong, code in (("label=x", 400), ("state=odd", 400), ("cursor=x", 400)):
        assert (await alarmed.get(f"{API}/alerts?{wrong}")).status_code == code
    assert (await alarmed.call("POST", f"{API}/alerts/999/acknowledge")).status_code == 404
    assert (await alarmed.get(f"{API}/alerts/999")).status_code == 404


async def test_alerts_come_in_pages(web: Web) -> None:
    await web.call("PUT", f"{API}/alert-rules/full", json={**FULL, "threshold": 5})
    await web.controls.evaluator.evaluate(await metrics_now())
    first = (await web.get(f"{API}/alerts?limit=1")).json()
    second = (await web.get(f"{API}/alerts?limit=1&cursor={first['next']}")).json()
    assert second["next"] is None
    assert first["items"][0]["id"] > second["items"][0]["id"]


async def test_a_silences_life(alarmed: Web) -> None:
    body = {"rule": "full", "matchers": {"host": "db1"}}
    covered = await alarmed.call("POST", f"{API}/silences/preview", Role.OPERATOR, json=body)
    assert [alert["rule"] for alert in covered.json()["items"]] == ["full"]
    made = await alarmed.call(
        "POST", f"{API}/silences", Role.OPERATOR, {**body, "duration": "2h", "reason": "rack"}
    )
    assert made.status_code == 201, made.text
    silence = made.json()
    assert silence.items() >= {**body, "created_by": "operator", "reason": "rack"}.items()
    assert await items(alarmed, "silences") == [silence]
    assert (await alarmed.get(f"{API}/silences/{silence['id']}")).json() == silence
    ended = await alarmed.call("POST", f"{API}/silences/{silence['id']}/expire", Role.OPERATOR)
    assert ended.json()["ends_at"] < silence["ends_at"]
    assert await items(alarmed, "silences") == []
    assert [each["id"] for each in await items(alarmed, "silences?ended=true")] == [silence["id"]]
    again = await alarmed.call("POST", f"{API}/silences/{silence['id']}/expire")
    assert again.status_code == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"duration": "1h"}, 400),
        ({"rule": "full"}, 400),
        ({"rule": "full", "duration": 0}, 400),
        ({"rule": "full", "duration": "1000d"}, 400),
        ({"rule": "full", "duration": "1h", "starts_at": "2026-01-01T00:00:00"}, 400),
        ({"rule": "full", "duration": "1h", "starts_at": "9999-12-31T23:59:59Z"}, 400),
        ({"rule": "full", "duration": "1h", "starts_at": "0001-01-01T00:00:00+14:00"}, 400),
        ({"rule": "misspelt", "duration": "1h"}, 404),
        ({"matchers": {"host": "\0"}, "duration": "1h"}, 400),
    ],
)
async def test_a_silence_that_cannot_be(alarmed: Web, body: dict[str, Any], code: int) -> None:
    answer = await alarmed.call("POST", f"{API}/silences", json=body)
    assert answer.status_code == code, answer.text
