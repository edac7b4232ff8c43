"""Flags and modules over HTTP."""

import asyncio
from typing import Any

import pytest

from leitstand.access import Role
from leitstand.modules import AuthenticationError
from tests.web.scene import Web

API = "/api/v1"


async def test_a_flags_life(web: Web) -> None:
    path = f"{API}/flags/new-ui"
    made = await web.call(
        "PUT", path, json={"rollout_percentage": 30, "target_tenants": ["b", "a"]}
    )
    assert made.status_code == 200, made.text
    flag = made.json()
    assert (flag["target_tenants"], flag["changed_by"]) == (["a", "b"], "admin")
    assert (await web.get(path)).json() == flag
    assert (await web.get(f"{API}/flags")).json()["items"] == [flag]
    answer = (await web.get(f"{path}/evaluation?tenant=a")).json()
    assert (answer["value"], answer["reason"]) == (True, "TARGETING_MATCH")
    replaced = await web.call("PUT", path, json={"enabled": True})
    assert replaced.json()["target_tenants"] == []
    assert (await web.get(f"{path}/evaluation")).json()["reason"] == "STATIC"
    assert (await web.call("DELETE", path)).status_code == 204
    for gone in (await web.get(path), await web.call("DELETE", path)):
        assert gone.status_code == 404
    history = (await web.get(f"{path}/history?limit=2")).json()
    assert [each["deleted"] for each in history["items"]] == [True, False]
    rest = (await web.get(f"{path}/history?cursor={history['next']}")).json()
    assert (rest["items"], rest["next"]) == ([flag], None)
    assert (await web.get(f"{API}/flags/new/history")).status_code == 404


async def test_of_many_with_the_same_version_one_writes(web: Web) -> None:
    """As settings do (case 48)."""
    path = f"{API}/flags/f"
    async with web.client(Role.ADMIN) as client:
        first = await client.put(path, json={}, headers={"If-Match": "0"})
        tag = {"If-Match": first.headers["etag"]}
        writes = (client.put(path, json={"rollout_percentage": n}, headers=tag) for n in range(20))
        codes = sorted(answer.status_code for answer in await asyncio.gather(*writes))
        assert codes == [200] + [409] * 19
        stale = await client.delete(path, headers=tag)
        assert (stale.status_code, stale.json()["code"]) == (409, "FLAG_VERSION")
        for wrong in ("x", "-1", "9" * 30, "²"):
            bad = await client.put(path, json={}, headers={b"If-Match": wrong.encode()})
            assert bad.status_code == 400
        now = (await client.get(path)).headers["etag"]
        assert (await client.delete(path, headers={"If-Match": now})).status_code == 204


async def test_flags_that_cannot_be(web: Web) -> None:
    bodies: list[Any] = [{"rollout_percentage": 101}, {"target_tenants": [""]}, {"on": True}, []]
    for body in bodies:
        assert (await web.call("PUT", f"{API}/flags/f", json=body)).status_code == 400
    assert (await web.call("PUT", f"{API}/flags/a|b", json={})).json()["code"] == "FLAG_KEY"


async def test_a_modules_life(web: Web) -> None:
    path = f"{API}/modules/shop"
    body = {"version": "1.0", "required_flags": ["shop"], "metrics_url": "http://10.0.0.5/metrics"}
    made = await web.call("PUT", path, json=body)
    assert made.status_code == 200, made.text
    assert body.items() <= made.json().items()
    assert (await web.get(path)).json() == made.json()
    assert (await web.get(f"{API}/modules")).json()["items"] == [made.json()]
    off = (await web.get(f"{path}/active?tenant=acme")).json()
    assert off == {
        "module": "shop",
        "tenant": "acme",
        "active": False,
        "flags": [{"key": "shop", "value": False, "reason": "FLAG_NOT_FOUND"}],
    }
    await web.call("PUT", f"{API}/flags/shop", json={"target_tenants": ["acme"]})
    assert (await web.get(f"{path}/active?tenant=acme")).json()["active"] is True
    other = await web.call("POST", f"{path}/activate", json={"tenant": "other"})
    assert other.json()["active"] is True
    ended = await web.call("POST", f"{path}/deactivate", json={"tenant": "acme"})
    assert ended.json()["active"] is False
    assert (await web.get(f"{API}/flags/shop")).json()["target_tenants"] == ["other"]
    await web.call("PUT", f"{API}/flags/shop", json={"enabled": True})
    still = (await web.call("POST", f"{path}/deactivate", json={"tenant": "other"})).json()
    assert (still["active"], still["flags"][0]["reason"]) == (True, "STATIC")
    assert (await web.call("PUT", path, json={"version": "2"})).json()["metrics_url"] is None
    assert (await web.get(f"{API}/modules/nothing")).json()["code"] == "MODULE_NOT_REGISTERED"


async def test_a_deleted_module_is_gone_with_its_credentials(web: Web) -> None:
    path = f"{API}/modules/shop"
    await web.call("PUT", path, json={"version": "1"})
    made = (await web.call("POST", f"{path}/credentials")).json()
    assert (await web.call("DELETE", path)).status_code == 204
    for answer in (await web.get(path), await web.call("DELETE", path)):
        assert (answer.status_code, answer.json()["code"]) == (404, "MODULE_NOT_REGISTERED")
    with pytest.raises(AuthenticationError):
        shown = (made["client_id"].encode(), made["secret"].encode())
        await web.controls.credentials.authenticate(*shown, "10.0.0.1")
    assert (await web.call("PUT", f"{API}/modules/shop-b", json={"version": "1"})).is_success


async def test_modules_that_cannot_be(web: Web) -> None:
    await web.call("PUT", f"{API}/modules/web", json={"version": "1"})
    for name, body, code in (
        ("Web", {"version": "1"}, "MODULE_NAME"),
        ("db", {"version": " "}, "MODULE_VERSION"),
        ("db", {"version": "1", "metrics_url": "file:///etc/passwd"}, "METRICS_URL"),
        ("db", {"version": "1", "metrics_url": "http://u:p@h/"}, "METRICS_URL"),
        ("db", {}, "USAGE"),
        ("web-db", {"version": "1"}, "MODULE_AMBIGUOUS"),
    ):
        answer = await web.call("PUT", f"{API}/modules/{name}", json=body)
        assert answer.json()["code"] == code
    assert (await web.get(f"{API}/modules/db")).status_code == 404


async def test_a_credential_is_rotated_and_revoked(web: Web) -> None:
    await web.call("PUT", f"{API}/modules/shop", json={"version": "1"})
    await web.call("PUT", f"{API}/modules/other", json={"version": "1"})
    path = f"{API}/modules/shop/credentials"
    old = (await web.call("POST", path)).json()
    made = await web.call("POST", path, json={"keep_old": "1h", "expires_in": "90d"})
    assert made.status_code == 201
    new = made.json()
    listed = await web.get(path)
    assert [each["client_id"] for each in listed.json()["items"]] == [
        new["client_id"],
        old["client_id"],
    ]
    assert all(each["valid"] for each in listed.json()["items"])
    assert new["secret"] not in listed.text
    for known in (old, new):
        assert await authenticated(web, known) == "shop"
    elsewhere = f"{API}/modules/other/credentials/{new['client_id']}"
    assert (await web.call("DELETE", elsewhere)).status_code == 404
    ended = await web.call("DELETE", f"{path}/{new['client_id']}")
    assert ended.json()["revoked_at"] is not None
    (left,) = [each for each in (await web.get(path)).json()["items"] if each["valid"]]
    assert left["client_id"] == old["client_id"]
    for wrong in ({"keep_old": -1}, {"expires_in": 0}, {"expires_in": "1000y"}, {"x": 1}):
        assert (await web.call("POST", path, json=wrong)).status_code == 400
    unknown = await web.call("POST", f"{API}/modules/nothing/credentials")
    assert unknown.status_code == 404


async def authenticated(web: Web, made: dict[str, str]) -> str:
    credentials = web.controls.credentials
    return await credentials.authenticate(
        made["client_id"].encode(), made["secret"].encode(), "10.0.0.1"
    )
