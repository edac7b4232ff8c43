"""Flags as OpenFeature's own clients see them: its SDK, and its OFREP provider over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

from leitstand.access import Role
from leitstand.flags import FlagChange, FlagLedger, FlagMemory, Flags, evaluate_one
from leitstand.flags.openfeature_provider import LeitstandProvider
from leitstand.store.database import Database
from leitstand.web import bind, build_site, serving
from tests.web.scene import site_on

PATH = "/ofrep/v1/evaluate/flags"


@pytest.fixture
async def flags(database: Database, tmp_path: Path) -> Flags:
    ledger = FlagLedger(database)
    await ledger.change("part", FlagChange(rollout_percentage=30))
    await ledger.change("all", FlagChange(enabled=True))
    await ledger.change("some", FlagChange(target_tenants=frozenset({"münchen"})))
    return Flags(ledger, FlagMemory(tmp_path / "flags.json"), 60.0)


@dataclass(frozen=True)
class Server:
    """Where the protocol is spoken, and what opens the door."""

    address: str
    headers: dict[str, str]


@pytest.fixture
async def server(flags: Flags, database: Database, tmp_path: Path) -> AsyncIterator[Server]:
    """The whole site."""
    site = site_on(database, tmp_path)
    app = build_site(replace(site, controls=replace(site.controls, flags=flags)))
    _, token = await site.controls.access.create_token("sdk", Role.VIEWER, "root")
    with bind("127.0.0.1", 0) as listener:
        async with serving(app, listener):
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            yield Server(address, {"Authorization": f"Bearer {token}"})


async def test_all_ways_of_asking_agree(flags: Flags, server: Server) -> None:
    """Case 58, for a thousand ids: our own answer, the SDK in the process, OFREP (some by HTTP)."""
    ids = [f"tenant-{n}" for n in range(998)] + ["münchen", "東京"]
    own = [await flags.is_enabled("part", each) for each in ids]
    assert 200 < sum(own) < 400
    api.set_provider(LeitstandProvider(flags), "leitstand")
    client = OpenFeatureClient("leitstand", None)
    contexts = [EvaluationContext(each) for each in ids]
    assert own == [client.get_boolean_value("part", False, each) for each in contexts]
    later = [await client.get_boolean_value_async("part", False, each) for each in contexts]
    assert own == later
    bodies = [json.dumps({"context": {"targetingKey": each}}).encode() for each in ids]
    answers = [(await evaluate_one(flags, "part", body)).document for body in bodies]
    assert own == [answer and answer["value"] for answer in answers]
    async with httpx.AsyncClient(base_url=server.address, headers=server.headers) as caller:
        for index in (*range(0, 1000, 40), 998, 999):
            bulk = (await caller.post(PATH, content=bodies[index])).json()["flags"]
            assert {flag["key"]: flag["value"] for flag in bulk} == {
                "all": True,
                "part": own[index],
                "some": ids[index] == "münchen",
            }


async def test_the_official_provider_over_http(server: Server) -> None:
    api.set_provider(OFREPProvider(server.address, headers_factory=lambda: server.headers), "ofrep")
    client = OpenFeatureClient("ofrep", None)

    def ask(key: str, tenant: str | None) -> tuple[bool, str | None, ErrorCode | None]:
        details = client.get_boolean_details(key, True, EvaluationContext(tenant))
        return details.value, details.reason, details.error_code

    def answers() -> list[tuple[bool, str | None, ErrorCode | None]]:
        asked = [("some", "münchen"), ("some", "acme"), ("all", None), ("none", "acme")]
        return [ask(*each) for each in asked]

    assert await asyncio.to_thread(answers) == [
        (True, "TARGETING_MATCH", None),
        (False, "DEFAULT", None),
        (True, "STATIC", None),
        (True, "ERROR", ErrorCode.FLAG_NOT_FOUND),
    ]


def test_the_provider_says_what_it_cannot(flags: Flags) -> None:
    """Before anything was read, for a flag that is none, and for other types than boolean."""
    api.set_provider(LeitstandProvider(flags), "early")
    client = OpenFeatureClient("early", None)
    details = client.get_boolean_details("all", True)
    assert (details.value, details.error_code) == (True, ErrorCode.PROVIDER_NOT_READY)
    asyncio.run(flags.keys())
    assert client.get_boolean_value("all", False)
    assert client.get_boolean_details("none", True).error_code is ErrorCode.FLAG_NOT_FOUND
    for other in (
        client.get_string_details("all", ""),
        client.get_integer_details("all", 0),
        client.get_float_details("all", 0.0),
        client.get_object_details("all", {}),
    ):
        assert other.error_code is ErrorCode.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "PARSE_ERROR"),
        (b"[" * 60_000, "PARSE_ERROR"),
        (b"[]", "INVALID_CONTEXT"),
        (b'{"context": 1}', "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": 5}}', "INVALID_CONTEXT"),
    ],
    ids=["empty", "deep", "list", "number", "key"],
)
async def test_requests_that_make_no_sense(server: Server, body: bytes, code: str) -> None:
    async with httpx.AsyncClient(base_url=server.address, headers=server.headers) as caller:
        for path in (PATH, f"{PATH}/all"):
            answer = await caller.post(path, content=body)
            assert (answer.status_code, answer.json()["errorCode"]) == (400, code)


async def test_who_may_not_ask_and_what_is_unchanged(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.address) as caller:
        for path in (PATH, f"{PATH}/all"):
            assert (await caller.post(path, json={})).status_code == 401
        body = {"context": {"targetingKey": "a"}}
        first = await caller.post(PATH, json=body, headers=server.headers)
        known = {**server.headers, "If-None-Match": first.headers["etag"]}
        again = await caller.post(PATH, json=body, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        other = {"context": {"targetingKey": "münchen"}}
        assert (await caller.post(PATH, json=other, headers=known)).status_code == 200
        missing = await caller.post(f"{PATH}/none", json=body, headers=server.headers)
        assert (missing.status_code, missing.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")
        large = await caller.post(PATH, content=b" " * (1 << 17), headers=server.headers)
        assert large.status_code == 413
