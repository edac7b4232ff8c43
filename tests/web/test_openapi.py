"""The description of the API agrees with what it answers, and every path asks for a role."""

from collections.abc import Iterator
from typing import Any

import pytest

from leitstand.access import Role
from leitstand.web.api.openapi import describe, operations
from tests.alerts.scene import METRIC
from tests.web.downtimes import some_downtimes
from tests.web.scene import Web, metrics_now

OPEN = {
    ("GET", "/livez"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("GET", "/login/{link}"),
    ("POST", "/logout"),
    ("POST", "/hooks/{name}"),
}
"""What asks for no role, or decides by itself."""

MAKING = (
    ("POST", "/api/v1/tenants"),
    ("POST", "/api/v1/notifications"),
    ("POST", "/api/v1/modules/{name}/credentials"),
    ("POST", "/api/v1/modules/{name}/activate"),
    ("POST", "/api/v1/modules/{name}/deactivate"),
    ("POST", "/settings/flags/{key}/on"),
    ("POST", "/settings/flags/{key}/off"),
)
"""Where a POST does what only administrators do."""

DOCUMENT = describe()


async def test_every_operation_takes_a_role(web: Web) -> None:
    without = {(each.method, each.path) for each in operations(web.app) if each.role is None}
    assert without == OPEN


async def test_roles_follow_from_what_is_done(web: Web) -> None:
    for method, path, role in guarded(web):
        if path.startswith("/ofrep/"):
            assert role is Role.VIEWER, path
        elif (
            method in ("PUT", "DELETE")
            or (method, path) in MAKING
            or path.startswith("/api/v1/tokens")
        ):
            assert role is Role.ADMIN, path
        else:
            assert role is (Role.VIEWER if method == "GET" else Role.OPERATOR), path


async def test_nothing_is_done_for_a_smaller_role(web: Web) -> None:
    for method, path, role in guarded(web):
        smaller = [None, *(other for other in Role if not other.includes(role))]
        for caller in smaller if path.startswith("/api/") else []:
            filled = path.replace("{id}", "1").replace("{action}", "full")
            answer = await web.call(method, filled, caller)
            assert answer.status_code == (401 if caller is None else 403), (method, path, caller)


def guarded(web: Web) -> Iterator[tuple[str, str, Role]]:
    """Method, path and role of each operation that takes one."""
    for each in operations(web.app):
        if each.role is not None:
            yield each.method, each.path, each.role


def test_the_description_is_complete() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    for path, described in DOCUMENT["paths"].items():
        assert path.startswith("/api/v1/")
        for operation in described.values():
            assert operation["summary"]
            assert operation["x-role"] in list(Role)
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert not {"422"} & set(operation["responses"])
    assert set(references(DOCUMENT)) <= {
        f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]
    }


def references(value: Any) -> Iterator[str]:
    match value:
        case dict():
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for inner in value.values():
                yield from references(inner)
        case list():
            for inner in value:
                yield from references(inner)


async def test_it_is_there_for_viewers(web: Web) -> None:
    answer = await web.get("/api/openapi.json")
    assert answer.json() == DOCUMENT


@pytest.fixture
async def busy(web: Web) -> Web:
    """A site with one of everything that the test can make."""
    await web.scene.job("job", every="1h", group="g", timeout=5.0)
    await web.scene.rows(
        "INSERT INTO drills (kind, source, success, detail, phases)"
        """ VALUES ('database', 's', TRUE, 'd', '{"start": 1.5}') RETURNING id"""
    )
    await web.scene.rows(
        "INSERT INTO servers (instance, host, pid, version, max_concurrent_runs)"
        " VALUES ('control-1', 'h', 1, '1', 4) RETURNING instance"
    )
    await web.scene.rows(
        "INSERT INTO agents (instance, name, host, pid, version, kinds, tags, slots)"
        " VALUES ('web1-1', 'web1', 'h', 1, '1', '{noop}', '{dmz}', 1) RETURNING instance"
    )
    await web.scene.rows(
        "INSERT INTO non_runs (job_id, job, scheduled_at, reason, detail)"
        " SELECT id, name, now(), 'missed', 'd' FROM jobs RETURNING id"
    )
    await web.call(
        "PUT", "/api/v1/windows/weekly", json={"from": "22:00", "to": "23:00", "days": ["mon"]}
    )
    await web.scene.rows(
        "INSERT INTO tenants (slug, name, database, reference, status, drop_at)"
        " VALUES ('acme', 'A', 'd', 'r', 'deleting', now()) RETURNING slug"
    )
    await web.call("PUT", "/api/v1/settings/k", json={"value": 1})
    await web.scene.job("listener", event="e")
    await web.call("POST", "/api/v1/events", json={"name": "e"})
    await web.controls.detection.state("log", "identity")
    await web.call("POST", "/api/v1/sources/log/reset")
    await web.scene.rows(
        "INSERT INTO detectors (source, event, checkpoint) VALUES ('log', 'e', 1) RETURNING event"
    )
    await web.call("PUT", "/api/v1/flags/f", json={"target_tenants": ["acme"]})
    module = {"version": "1", "required_flags": ["f"]}
    await web.call("PUT", "/api/v1/modules/shop", json=module)
    await web.call("POST", "/api/v1/modules/shop/credentials")
    rule = {"metric_name": METRIC, "comparison": "gt", "threshold": 90, "recipient": "log"}
    filtered = {**rule, "label_filters": {"host": "db1"}}
    await web.call("PUT", "/api/v1/alert-rules/full", json=filtered)
    await web.controls.evaluator.evaluate(await metrics_now())
    silence = {"rule": "full", "matchers": {"host": "db1"}, "duration": "1h"}
    await web.call("POST", "/api/v1/silences", json=silence)
    run = await web.scene.queue.request("job")
    await web.scene.rows(
        "INSERT INTO run_logs (run_id, text) VALUES (%s, 'x') RETURNING id", run.id
    )
    await web.scene.rows(
        "INSERT INTO late_results (run_id, fencing_token, outcome) VALUES (%s, 1, '{}')"
        " RETURNING id",
        run.id,
    )
    await some_downtimes(web)
    return web


PATHS = {
    "/api/v1/jobs": "/api/v1/jobs",
    "/api/v1/jobs/job": "/api/v1/jobs/{name}",
    "/api/v1/jobs/job/next": "/api/v1/jobs/{name}/next",
    "/api/v1/jobs/job/why": "/api/v1/jobs/{name}/why",
    "/api/v1/runs": "/api/v1/runs",
    "/api/v1/runs/1": "/api/v1/runs/{id}",
    "/api/v1/runs/1/logs": "/api/v1/runs/{id}/logs",
    "/api/v1/groups": "/api/v1/groups",
    "/api/v1/windows": "/api/v1/windows",
    "/api/v1/servers": "/api/v1/servers",
    "/api/v1/agents": "/api/v1/agents",
    "/api/v1/drills": "/api/v1/drills",
    "/api/v1/downtimes": "/api/v1/downtimes",
    "/api/v1/downtimes/history": "/api/v1/downtimes/history",
    "/api/v1/downtimes/status?host=web01": "/api/v1/downtimes/status",
    "/api/v1/downtimes/dead-letters": "/api/v1/downtimes/dead-letters",
    "/api/v1/downtimes/dead-letters/1": "/api/v1/downtimes/dead-letters/{id}",
    "/api/v1/health": "/api/v1/health",
    "/api/v1/tenants": "/api/v1/tenants",
    "/api/v1/tenants/acme": "/api/v1/tenants/{slug}",
    "/api/v1/settings": "/api/v1/settings",
    "/api/v1/settings/k": "/api/v1/settings/{key}",
    "/api/v1/settings/k/resolved": "/api/v1/settings/{key}/resolved",
    "/api/v1/settings/k/history": "/api/v1/settings/{key}/history",
    "/api/v1/tokens": "/api/v1/tokens",
    "/api/v1/events": "/api/v1/events",
    "/api/v1/events/1": "/api/v1/events/{id}",
    "/api/v1/events/catalog": "/api/v1/events/catalog",
    "/api/v1/events/listeners": "/api/v1/events/listeners",
    "/api/v1/sources": "/api/v1/sources",
    "/api/v1/sources/log/resets": "/api/v1/sources/{name}/resets",
    "/api/v1/alerts": "/api/v1/alerts",
    "/api/v1/alerts/1": "/api/v1/alerts/{id}",
    "/api/v1/alert-rules": "/api/v1/alert-rules",
    "/api/v1/alert-rules/full": "/api/v1/alert-rules/{name}",
    "/api/v1/silences": "/api/v1/silences",
    "/api/v1/silences/1": "/api/v1/silences/{id}",
    "/api/v1/notifications": "/api/v1/notifications",
    "/api/v1/notifications/1": "/api/v1/notifications/{id}",
    "/api/v1/contacts": "/api/v1/contacts",
    "/api/v1/notify-rules": "/api/v1/notify-rules",
    "/api/v1/flags": "/api/v1/flags",
    "/api/v1/flags/f": "/api/v1/flags/{key}",
    "/api/v1/flags/f/evaluation?tenant=acme": "/api/v1/flags/{key}/evaluation",
    "/api/v1/flags/f/history": "/api/v1/flags/{key}/history",
    "/api/v1/modules": "/api/v1/modules",
    "/api/v1/modules/shop": "/api/v1/modules/{name}",
    "/api/v1/modules/shop/active": "/api/v1/modules/{name}/active",
    "/api/v1/modules/shop/credentials": "/api/v1/modules/{name}/credentials",
}


async def test_every_field_of_an_answer_is_described(busy: Web) -> None:
    for path, template in PATHS.items():
        answer = await busy.get(path, Role.ADMIN)
        assert answer.status_code == 200, (path, answer.text)
        content = DOCUMENT["paths"][template]["get"]["responses"]["200"]["content"]
        complain(answer.json(), content["application/json"]["schema"], path)


def complain(value: Any, schema: dict[str, Any], where: str) -> None:
    """Fail unless the value has exactly the described fields, all the way down."""
    schema = resolved(schema)
    if isinstance(value, list):
        assert value, f"{where} is empty and shows nothing"
        complain(value[0], schema["items"], f"{where}[0]")
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) == set(schema["properties"]), where
        for name, inner in value.items():
            if inner not in (None, [], {}):
                complain(inner, schema["properties"][name], f"{where}.{name}")


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind references, and of what may be null the other one."""
    if "anyOf" in schema:
        schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return resolved(DOCUMENT["components"]["schemas"][name])
    return schema
