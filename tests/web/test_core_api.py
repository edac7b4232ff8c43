"""Tenants and settings over HTTP."""

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from leitstand.access import Role
from tests.conftest import Postgres
from tests.tenants.registered import register
from tests.web.scene import Web


@pytest.fixture
def prefix(conninfo: str, postgres: Postgres) -> Iterator[str]:
    """How the names of this test's tenants' databases begin."""
    prefix = f"{psycopg.conninfo.conninfo_to_dict(conninfo)['dbname']}_w_"
    yield prefix
    postgres.drop_database(f"{prefix}acme")


async def test_a_tenants_life(web: Web, prefix: str) -> None:
    made = await web.call("POST", "/api/v1/tenants", json={"slug": "acme", "name": "Acme"})
    assert made.status_code == 201
    assert (made.json()["database"], made.json()["status"]) == (f"{prefix}acme", "active")
    assert "password" not in made.text
    again = await web.call("POST", "/api/v1/tenants", json={"slug": "acme", "name": "Acme"})
    assert (again.status_code, again.json()["code"]) == (409, "TENANT_EXISTS")
    assert (await web.get("/api/v1/tenants/acme")).json() == made.json()
    assert (await web.get("/api/v1/tenants")).json()["items"] == [made.json()]
    assert (await web.call("DELETE", "/api/v1/tenants/acme")).status_code == 202
    assert (await web.get("/api/v1/tenants/acme")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"slug": "A", "name": "x"},
        {"slug": "a", "name": ""},
        {"slug": "a", "name": "b", "x": 1},
    ],
)
async def test_tenants_that_cannot_be(web: Web, body: Any) -> None:
    assert (await web.call("POST", "/api/v1/tenants", json=body)).status_code == 400


async def test_what_fails_shows_no_internals(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("postgresql://u:secret@h/d")

    monkeypatch.setattr(web.controls.provisioner, "provision", fail)
    answer = await web.call("POST", "/api/v1/tenants", json={"slug": "acme", "name": "Acme"})
    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
    assert "secret" not in answer.text


async def test_of_fifty_with_the_same_version_one_writes(web: Web) -> None:
    """Case 48, over HTTP."""
    path = "/api/v1/settings/mail.sender"
    async with web.client(Role.ADMIN) as client:
        first = await client.put(path, json={"value": 0}, headers={"If-Match": "0"})
        assert (first.status_code, first.json()["version"]) == (200, 1)
        tag = {"If-Match": first.headers["etag"]}
        writes = (client.put(path, json={"value": n}, headers=tag) for n in range(50))
        codes = sorted(answer.status_code for answer in await asyncio.gather(*writes))
        assert codes == [200] + [409] * 49
        assert (await client.put(path, json={"value": "x"})).json()["version"] == 3
        bad = await client.put(path, json={"value": 1}, headers={"If-Match": "no tag"})
        assert bad.status_code == 400
    shown = await web.get(path)
    assert (shown.json()["value"], shown.json()["changed_by"]) == ("x", "admin")
    history = (await web.get(f"{path}/history")).json()["items"]
    assert [each["version"] for each in history] == [1, 2, 3]


async def test_a_key_may_have_parts(web: Web) -> None:
    path = "/api/v1/settings/mail/sender"
    made = (await web.call("PUT", path, json={"value": "ops@x"})).json()
    assert made["key"] == "mail/sender"
    assert (await web.get(path)).json() == made
    assert (await web.get(f"{path}/resolved")).json() == made
    assert (await web.get(f"{path}/history")).json()["items"] == [made]


async def test_scopes(web: Web, conninfo: str) -> None:
    path = "/api/v1/settings/k"
    assert (await web.call("PUT", f"{path}?scope=acme", json={"value": 1})).status_code == 404
    await register(conninfo, "acme")
    await web.call("PUT", path, json={"value": "all"})
    await web.call("PUT", f"{path}?scope=acme", json={"value": ["own"]})
    for tenant, value in (("acme", ["own"]), ("other", "all")):
        assert (await web.get(f"{path}/resolved?tenant={tenant}")).json()["value"] == value
    assert (await web.get(f"{path}?scope=other")).status_code == 404
    assert (await web.call("PUT", f"{path}?scope=", json={"value": 1})).status_code == 400
    assert (await web.call("PUT", path, json={"values": 1})).status_code == 400
    items = (await web.get("/api/v1/settings?limit=1")).json()
    more = (await web.get(f"/api/v1/settings?cursor={items['next']}")).json()
    assert [each["scope"] for each in (*items["items"], *more["items"])] == ["acme", "global"]
