"""The agents' API as others meet it: who may call, and what is said to those who may not."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from leitstand.agent_protocol import API, BODY_LIMIT, Problem
from leitstand.failed_attempts import LIMIT
from leitstand.jobs import AgentDesk, Agents, LoopSettings, Queue, TaskBoard
from leitstand.modules import Credential, CredentialLedger, ModuleLedger
from leitstand.store.database import Database
from leitstand.web import agent_api, build_site
from tests.web.scene import site_on

HELLO: dict[str, Any] = {"host": "h", "pid": 1, "version": "1", "kinds": ["noop"], "slots": 1}


@pytest.fixture
async def credential(database: Database) -> Credential:
    await ModuleLedger(database).register("web1", "1.0")
    return await CredentialLedger(database).provision("web1")


@pytest.fixture
async def caller(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A caller on another machine."""
    board = TaskBoard(Agents(database))
    desk = AgentDesk(Queue(database), board, LoopSettings(), lambda: False, lambda *_: None)
    agents = agent_api(desk, CredentialLedger(database))
    app: FastAPI = build_site(site_on(database, Path("/nowhere"), agents))
    transport = httpx.ASGITransport(app, client=("10.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://leitstand") as client:
        yield client


def headers(credential: Credential, **changed: bytes) -> dict[bytes, bytes]:
    known = {
        "client_id": credential.client_id.encode(),
        "secret": credential.secret.encode(),
        **changed,
    }
    return {b"X-Client-Id": known["client_id"], b"X-Client-Secret": known["secret"]}


async def test_other_machines_get_this_and_nothing_else(
    caller: httpx.AsyncClient, credential: Credential
) -> None:
    answer = await caller.post(f"{API}/hello", headers=headers(credential), json=HELLO)
    assert answer.status_code == 200
    assert answer.json()["instance"].startswith("web1-")
    for path, code in (("/", 303), ("/metrics", 401), ("/api/v1/jobs", 401)):
        refused = await caller.get(path, headers=headers(credential))
        assert refused.status_code == code


@pytest.mark.parametrize("path", ["hello", "tasks", "heartbeat", "reports", "result", "goodbye"])
async def test_nobody_gets_in_without_a_credential(
    caller: httpx.AsyncClient, credential: Credential, path: str
) -> None:
    """Missing, wrong, unknown, and bytes that are no text: the same 401, and no body is read."""
    answers = [
        await caller.post(f"{API}/{path}", headers=each, content=b"no json")
        for each in (
            {},
            headers(credential, secret=b"wrong"),
            headers(credential, client_id=b"unknown"),
            headers(credential, secret="schlüssel".encode()),
            headers(credential, client_id=b"\xff\xfe"),
        )
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].headers["content-type"] == "application/problem+json"
    assert answers[0].headers["www-authenticate"]
    problem = Problem.model_validate(answers[0].json())
    assert (problem.title, problem.status, problem.code) == (
        "Unauthorized",
        401,
        "UNAUTHENTICATED",
    )


async def test_guessing_is_answered_with_429(
    caller: httpx.AsyncClient, credential: Credential
) -> None:
    wrong = headers(credential, secret=b"wrong")
    codes = [
        (await caller.post(f"{API}/hello", headers=wrong)).status_code for _ in range(LIMIT + 1)
    ]
    assert codes == [401] * LIMIT + [429]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "USAGE"),
        (b"no json", "USAGE"),
        (b'{"host": "h"}', "USAGE"),
        (b"[" * 100_000, "USAGE"),
        (b" " * (BODY_LIMIT + 1), "BODY_TOO_LARGE"),
    ],
    ids=["empty", "no json", "fields missing", "deep", "large"],
)
async def test_bodies_that_make_no_sense(
    caller: httpx.AsyncClient, credential: Credential, body: bytes, code: str
) -> None:
    answer = await caller.post(f"{API}/hello", headers=headers(credential), content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_problems_have_their_status(
    caller: httpx.AsyncClient, credential: Credential
) -> None:
    strange = {"instance": "web2-00000000"}
    answer = await caller.post(f"{API}/tasks", headers=headers(credential), json=strange)
    assert (answer.status_code, answer.json()["code"]) == (404, "UNKNOWN_INSTANCE")
    forgotten = {"instance": "web1-00000000"}
    answer = await caller.post(f"{API}/tasks", headers=headers(credential), json=forgotten)
    assert (answer.status_code, answer.json()["code"]) == (409, "NOT_REGISTERED")
