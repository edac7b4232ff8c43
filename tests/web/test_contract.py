"""Whatever is asked of the API, it answers as described: with a document, or with a problem."""

import pytest
from hypothesis import HealthCheck, given, settings

from leitstand.access import Role
from leitstand.errors import ConflictError
from tests.web.rubbish import Odd, odd_requests
from tests.web.scene import Web

PROBLEM_FIELDS = {"type", "title", "status", "detail", "code", "remedy"}


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(odd=odd_requests())
async def test_no_request_makes_it_fail(quiet: Web, odd: Odd) -> None:
    async with quiet.client(Role.ADMIN) as client:
        answer = await client.request(odd.method, odd.path, content=odd.body)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(answer.json()) == PROBLEM_FIELDS
        assert answer.json()["status"] == answer.status_code


@pytest.fixture
async def quiet(web: Web, monkeypatch: pytest.MonkeyPatch) -> Web:
    """A site with a job, a rule, a flag and a module, which makes no databases."""

    async def refuse(*_: object) -> None:
        raise ConflictError("no databases are made here")

    monkeypatch.setattr(web.controls.provisioner, "provision", refuse)
    await web.scene.job("job", every="1h")
    rule = {"metric_name": "up", "comparison": "lt", "threshold": 1, "recipient": "log"}
    await web.call("PUT", "/api/v1/alert-rules/full", json=rule)
    await web.call("PUT", "/api/v1/flags/f", json={"enabled": True})
    await web.call("PUT", "/api/v1/modules/shop", json={"version": "1"})
    return web
