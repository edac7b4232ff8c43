"""Webhooks in: who is believed, what is stored, and how everything else is answered."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from leitstand.errors import UsageError
from leitstand.events import EventQueue
from leitstand.events.queue import PAYLOAD_LIMIT
from leitstand.events.webhooks import Call, Intake, WebhookMetrics, signing_key, token_digest
from leitstand.events.webhooks.body import payload_of
from leitstand.events.webhooks.intake import FAILURES
from leitstand.failed_attempts import FailedAttempts
from leitstand.store.database import Database
from tests.events.hook_scene import (
    HOOKS,
    OLD_SECRET,
    OLD_TOKEN,
    OTHER_SECRET,
    SECRET,
    SIGNED,
    TOKEN,
    Sender,
    signed,
)
from tests.web.scene import Web, web_on

ALERTS: dict[str, Any] = {
    "version": "4",
    "groupKey": '{}:{alertname="Disk"}',
    "truncatedAlerts": 0,
    "status": "firing",
    "receiver": "leitstand",
    "groupLabels": {"alertname": "Disk"},
    "commonLabels": {"alertname": "Disk", "host": "web1"},
    "commonAnnotations": {},
    "externalURL": "http://alertmanager:9093",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "Disk", "host": "web1"},
            "annotations": {"summary": "full"},
            "startsAt": "2026-12-02T14:00:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus:9090/graph",
            "fingerprint": "f00d",
        }
    ],
}


@pytest.fixture
async def web(database: Database, tmp_path: Path) -> Web:
    """A site with hooks."""
    return await web_on(database, tmp_path, hooks=HOOKS, with_tokens=False)


@pytest.fixture
async def sender(web: Web) -> AsyncIterator[Sender]:
    """Who has the hook's secret."""
    async with web.client() as client:
        yield Sender(client)


@pytest.fixture
def refused(web: Web) -> dict[tuple[str, str], int]:
    """What has been refused, by hook and reason."""
    return web.controls.hooks.refused


def told(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a problem, in which no secret may be."""
    assert answer.headers["content-type"] == "application/problem+json"
    assert not any(each in answer.text for each in (SECRET[6:], TOKEN, OTHER_SECRET[6:]))
    return answer.status_code, answer.json()["code"]


async def test_a_signed_call_is_an_event(sender: Sender, events: EventQueue) -> None:
    answer = await sender.send("msg_1", {"order": 17, "ünicode": "\0"})
    assert answer.status_code == 202
    (event,) = await events.list_events()
    assert answer.json() == {"event": event.id, "repeated": False}
    assert (event.name, event.source, event.tenant) == ("hook:shop", "hook:shop", "main")
    assert event.payload == {"order": 17, "ünicode": "\N{REPLACEMENT CHARACTER}"}


async def test_a_call_that_is_repeated_is_stored_once(sender: Sender, events: EventQueue) -> None:
    first = await sender.send("msg_1", {"n": 1})
    again = await sender.send("msg_1", {"n": 2})
    assert again.status_code == 202
    assert again.json() == {"event": first.json()["event"], "repeated": True}
    assert [event.payload for event in await events.list_events()] == [{"n": 1}]


async def test_many_at_once_with_one_id(web: Web, database: Database, events: EventQueue) -> None:
    """At two servers: each has its own way to the database, the unique key decides."""
    other = Intake(HOOKS, EventQueue(database))
    body = b"{}"
    call = Call(*list(signed(SECRET, "msg_1", body).values())[1:])
    intakes = (web.controls.hooks, other) * 20
    taken = await asyncio.gather(*(each.take(SIGNED, call, body, "10.0.0.1") for each in intakes))
    assert sorted(each.repeated for each in taken) == [False] + [True] * 39
    (event,) = await events.list_events()
    assert {each.event for each in taken} == {event.id}


async def test_secrets_are_exchanged_without_a_break(sender: Sender) -> None:
    """Both sign for a while, and a sender may sign with both."""
    sender.secret = OLD_SECRET
    assert (await sender.send("msg_1")).status_code == 202
    headers = signed(SECRET, "msg_2", b"{}")
    ours, moment = headers["webhook-signature"], headers["webhook-timestamp"]
    other = signed(OTHER_SECRET, "msg_2", b"{}")["webhook-signature"]
    for number, several in enumerate((f"{other} {ours}", f"v1a,xx v2,{ours[3:]} {ours}")):
        sent = {"webhook_signature": several, "webhook_timestamp": moment}
        answer = await sender.send("msg_2", b"{}", **sent)
        assert (answer.status_code, answer.json()["repeated"]) == (202, number > 0)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"webhook_signature": None}, "WRONG_SIGNATURE"),
        ({"webhook_signature": ""}, "WRONG_SIGNATURE"),
        ({"webhook_signature": "v1"}, "WRONG_SIGNATURE"),
        ({"webhook_signature": "v1,?? v1,AAAA v1,,"}, "WRONG_SIGNATURE"),
        ({"webhook_id": None}, "WRONG_SIGNATURE"),
        ({"webhook_id": "msg_2"}, "WRONG_SIGNATURE"),
        ({"webhook_timestamp": None}, "WRONG_SIGNATURE"),
        ({"webhook_timestamp": "nan"}, "WRONG_SIGNATURE"),
        ({"webhook_timestamp": "1"}, "WRONG_SIGNATURE"),
        ({"webhook_timestamp": "9" * 400}, "WRONG_SIGNATURE"),
        ({"authorization": f"Bearer {TOKEN}", "webhook_signature": None}, "WRONG_SIGNATURE"),
    ],
)
async def test_what_is_not_signed_as_it_is(
    sender: Sender, events: EventQueue, refused: dict[Any, int], headers: Any, code: str
) -> None:
    assert told(await sender.send("msg_1", {"n": 1}, **headers)) == (401, code)
    assert refused == {("shop", code): 1}
    assert await events.list_events() == []


async def test_another_body_another_secret(sender: Sender, events: EventQueue) -> None:
    ours = signed(SECRET, "msg_1", b'{"n": 1}')
    answer = await sender.client.post(sender.path, content=b'{"n": 2}', headers=ours)
    assert told(answer) == (401, "WRONG_SIGNATURE")
    sender.secret = OTHER_SECRET
    assert told(await sender.send("msg_1")) == (401, "WRONG_SIGNATURE")
    assert await events.list_events() == []


@pytest.mark.parametrize(
    ("seconds", "status"), [(-290, 202), (290, 202), (-310, 401), (310, 401), (-1e6, 401)]
)
async def test_the_replay_window(sender: Sender, seconds: float, status: int) -> None:
    sender.seconds = seconds
    answer = await sender.send("msg_1")
    assert answer.status_code == status
    if status == 401:
        assert told(answer) == (401, "OUTSIDE_REPLAY_WINDOW")
        assert "ago" in answer.json()["detail"] or "ahead" in answer.json()["detail"]


@pytest.mark.parametrize("token", [TOKEN, OLD_TOKEN])
async def test_senders_that_cannot_sign(web: Web, events: EventQueue, token: str) -> None:
    """Alertmanager's body as it is; without an id each call is an event of its own."""
    headers = {"Authorization": f"Bearer {token}"}
    async with web.client(headers=headers) as client:
        for _ in range(2):
            answer = await client.post("/hooks/alertmanager", json=ALERTS)
            assert answer.status_code == 202
        for repeated in (False, True):
            named = {"webhook-id": "g1"}
            answer = await client.post("/hooks/alertmanager", json=ALERTS, headers=named)
            assert answer.json()["repeated"] is repeated
        bad = await client.post("/hooks/alertmanager", json={}, headers={"webhook-id": "x" * 257})
        assert told(bad) == (400, "WRONG_MESSAGE_ID")
    stored = await events.list_events("hook:alertmanager")
    assert [event.payload for event in stored] == [ALERTS] * 3


@pytest.mark.parametrize("shown", ["", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"])
async def test_wrong_tokens(web: Web, refused: dict[Any, int], shown: str) -> None:
    async with web.client() as client:
        headers = {b"Authorization": shown.encode()}
        answer = await client.post("/hooks/alertmanager", json={}, headers=headers)
    assert told(answer) == (401, "WRONG_TOKEN")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert refused == {("alertmanager", "WRONG_TOKEN"): 1}


async def test_a_hook_with_both(web: Web, events: EventQueue) -> None:
    """A signature counts if there is one; a tenant's hook makes a tenant's events."""
    async with web.client(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        sender = Sender(client, "/hooks/both")
        assert (await sender.send("msg_1")).status_code == 202
        assert (await sender.send("msg_2", webhook_signature=None)).status_code == 202
        assert told(await sender.send("msg_3", webhook_signature="v1,AA"))[0] == 401
    assert {event.tenant for event in await events.list_events()} == {"acme"}


@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"],
)
async def test_other_sorts_of_bodies(
    sender: Sender, refused: dict[Any, int], content_type: str | None
) -> None:
    answer = await sender.send("msg_1", content_type=content_type)
    assert told(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert refused == {("shop", "UNSUPPORTED_MEDIA_TYPE"): 1}


async def test_sorts_of_json(sender: Sender) -> None:
    for sort in ("application/cloudevents+json", "Application/JSON;charset=UTF-8"):
        assert (await sender.send("msg_1", content_type=sort)).status_code == 202


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"1",
        b"{",
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": ' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"a":' * 60_000,
    ],
)
async def test_bodies_that_are_none(web: Web, events: EventQueue, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    async with web.client(headers=headers) as client:
        answer = await client.post("/hooks/alertmanager", content=body)
    assert told(answer) == (400, "NOT_JSON")
    assert await events.list_events() == []


async def test_sizes(sender: Sender, events: EventQueue, refused: dict[Any, int]) -> None:
    """What a payload can hold, one character more, and more than is read at all."""
    room = PAYLOAD_LIMIT - len('{"a":""}')
    assert (await sender.send("msg_1", {"a": "x" * room})).status_code == 202
    assert told(await sender.send("msg_2", {"a": "x" * (room + 1)})) == (413, "PAYLOAD_TOO_LONG")
    assert told(await sender.send("msg_3", {"a": "x" * (1 << 20)})) == (413, "BODY_TOO_LARGE")
    assert len(await events.list_events()) == 1
    assert refused == {("shop", "PAYLOAD_TOO_LONG"): 1, ("shop", "BODY_TOO_LARGE"): 1}


async def test_a_body_without_an_end_is_not_read(sender: Sender) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1 << 16
            yield b" " * (1 << 16)

    headers = signed(SECRET, "msg_1", b"")
    answer = await sender.client.post(sender.path, content=endless(), headers=headers)
    assert told(answer) == (413, "BODY_TOO_LARGE")
    assert read <= 2 << 20


async def test_a_body_that_takes_for_ever(
    sender: Sender, refused: dict[Any, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leitstand.web.hooks.BODY_PATIENCE", 0.1)

    async def dripping() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    headers = signed(SECRET, "msg_1", b"{}")
    answer = await sender.client.post(sender.path, content=dripping(), headers=headers)
    assert told(answer) == (408, "BODY_TOO_SLOW")
    assert refused == {("shop", "BODY_TOO_SLOW"): 1}


def test_a_long_group_of_alerts_keeps_its_first() -> None:
    alerts = [{**ALERTS["alerts"][0], "fingerprint": str(n)} for n in range(2_000)]
    payload = payload_of(json.dumps({**ALERTS, "alerts": alerts, "truncatedAlerts": 3}).encode())
    kept = len(payload["alerts"])
    assert payload["alerts"] == alerts[:kept]
    assert payload["truncatedAlerts"] == 2_000 - kept + 3
    length = len(json.dumps(payload, separators=(",", ":")))
    assert PAYLOAD_LIMIT - 400 < length <= PAYLOAD_LIMIT
    assert payload["commonLabels"] == ALERTS["commonLabels"]


async def test_unknown_hooks(sender: Sender, refused: dict[Any, int]) -> None:
    """Their names are strangers' choice, and stand in no metric."""
    for name in ("shopp", "x" * 1000, "a b"):
        sender.path = f"/hooks/{name}"
        assert told(await sender.send("msg_1")) == (404, "NOT_FOUND")
    assert refused == {("", "NOT_FOUND"): 3}
    assert (await sender.client.get("/hooks/shop")).status_code == 405


async def test_who_fails_too_often_waits(database: Database, events: EventQueue) -> None:
    """Before anything is read; other hooks and addresses do not notice."""
    now = [0.0]
    intake = Intake(HOOKS, events, failures=FailedAttempts(2, clock=lambda: now[0]))
    for _ in range(2):
        with pytest.raises(Exception, match="not signed"):
            await intake.take(intake.hook("shop", "10.0.0.1"), Call(), b"{}", "10.0.0.1")
    with pytest.raises(Exception, match="too many attempts"):
        intake.hook("shop", "10.0.0.1")
    assert intake.hook("shop", "10.0.0.2").name == "shop"
    assert intake.hook("both", "10.0.0.1").name == "both"
    now[0] = 61.0
    assert intake.hook("shop", "10.0.0.1").name == "shop"
    assert FAILURES >= 1_000, "one sender that is set up wrongly locks out others of its address"


async def test_the_metrics_tell_what_came(web: Web, sender: Sender) -> None:
    await sender.send("msg_1")
    await sender.send("msg_1")
    await sender.send("msg_2", webhook_signature="v1,AA")
    families = {each.name: each for each in await WebhookMetrics(web.controls.hooks).collect()}
    taken = families["leitstand_core_webhooks"].samples
    assert {tuple(s.labels.values()): s.value for s in taken if s.labels["hook"] == "shop"} == {
        ("shop", "stored"): 1,
        ("shop", "repeated"): 1,
    }
    refused = families["leitstand_core_webhooks_refused"].samples
    assert [(*s.labels.values(), s.value) for s in refused] == [("shop", "WRONG_SIGNATURE", 1)]


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "not base64, I fear", "é" * 40])
def test_secrets_that_are_none(secret: str) -> None:
    with pytest.raises(UsageError):
        signing_key(secret)


@pytest.mark.parametrize("token", ["", "short", "with spaces in it, alas", "é" * 40, "line\n" * 9])
def test_tokens_that_are_none(token: str) -> None:
    with pytest.raises(UsageError):
        token_digest(token)
