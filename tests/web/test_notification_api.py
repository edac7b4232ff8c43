"""The queue of messages to people over HTTP, and who can be written to by name."""

from typing import Any

from leitstand.access import Role
from leitstand.notifications import Outbox
from tests.web.scene import Web

API = "/api/v1"


async def queued(web: Web, *recipients: str, channel: str = "email") -> list[int]:
    return [
        await web.controls.outbox.enqueue(channel, each, {"message": "m"}) for each in recipients
    ]


async def fail_all(outbox: Outbox) -> None:
    for claimed in await outbox.claim(100, 60):
        await outbox.record_failure(claimed.held, "550 no such user", None)


async def test_the_queue_is_listed_in_pages(web: Web) -> None:
    ids = await queued(web, "a@x", "b@x", "c@x")
    first = (await web.get(f"{API}/notifications?limit=2")).json()
    assert [each["id"] for each in first["items"]] == [ids[2], ids[1]]
    last = (await web.get(f"{API}/notifications?limit=2&cursor={first['next']}")).json()
    assert ([each["id"] for each in last["items"]], last["next"]) == ([ids[0]], None)
    one = (await web.get(f"{API}/notifications/{ids[0]}")).json()
    assert one == last["items"][0]
    assert (await web.get(f"{API}/notifications?channel=job")).json()["items"] == []
    assert (await web.get(f"{API}/notifications?status=odd")).status_code == 400
    assert (await web.get(f"{API}/notifications/999")).status_code == 404


async def test_a_dead_one_is_tried_anew(web: Web) -> None:
    (number,) = await queued(web, "a@x")
    early = await web.call("POST", f"{API}/notifications/{number}/retry", Role.OPERATOR)
    assert (early.status_code, early.json()["code"]) == (409, "CONFLICT")
    await fail_all(web.controls.outbox)
    (dead,) = (await web.get(f"{API}/notifications?status=failed")).json()["items"]
    assert dead["last_error"] == "550 no such user"
    again = await web.call("POST", f"{API}/notifications/{number}/retry", Role.OPERATOR)
    assert (again.status_code, again.json()["status"]) == (202, "pending")
    assert again.json()["message_id"] == dead["message_id"]


async def test_all_dead_ones_of_a_channel_are_tried_anew(web: Web) -> None:
    await queued(web, "a@x", "b@x")
    await queued(web, "log", channel="log")
    await fail_all(web.controls.outbox)
    path = f"{API}/notifications/retry-failed"
    answer = await web.call("POST", f"{path}?channel=email", Role.OPERATOR)
    assert (answer.status_code, answer.json()) == (202, {"retried": 2})
    assert (await web.call("POST", path)).json() == {"retried": 1}
    assert (await web.get(f"{API}/notifications?status=failed")).json()["items"] == []


async def test_only_an_administrator_writes_to_anybody(web: Web) -> None:
    body: dict[str, Any] = {"channel": "alert", "recipient": "https://hooks.example/hidden"}
    refused = await web.call("POST", f"{API}/notifications", Role.OPERATOR, json=body)
    assert refused.status_code == 403
    sent = await web.call("POST", f"{API}/notifications", json={**body, "payload": {"a": 1}})
    assert (sent.status_code, sent.json()["recipient"]) == (202, "https://***")
    assert "hidden" not in (await web.get(f"{API}/notifications")).text
    wrongs: list[dict[str, Any]] = [
        {"channel": "smoke"},
        {"recipient": ""},
        {"payload": []},
        {"payload": {"a": "\0"}},
    ]
    for wrong in wrongs:
        answer = await web.call("POST", f"{API}/notifications", json={**body, **wrong})
        assert answer.status_code == 400, answer.text


async def test_contacts_are_listed_without_their_secrets(web: Web) -> None:
    answer = await web.get(f"{API}/contacts")
    chat = {"name": "chat", "transport": "webhook", "reaches": ["https://***"], "signed": False}
    everybody = {
        "name": "default",
        "transport": None,
        "reaches": ["ops@example.org", "chat"],
        "signed": False,
    }
    log = {"name": "log", "transport": "log", "reaches": ["log"], "signed": False}
    assert answer.json()["items"] == [chat, everybody, log]
    rules = await web.get(f"{API}/notify-rules")
    assert rules.json()["items"][0]["recipients"] == ["default", "https://***"]
    assert "hooks.example" not in answer.text + rules.text


async def test_a_test_message_goes_to_each_whom_the_name_reaches(web: Web) -> None:
    answer = await web.call("POST", f"{API}/contacts/default/test", Role.OPERATOR)
    assert answer.status_code == 202
    sent = answer.json()["items"]
    told = [(each["channel"], each["recipient"]) for each in sent]
    assert told == [("email", "ops@example.org"), ("webhook", "chat")]
    assert sent[0]["payload"]["asked_by"] == "operator"
    for name in ("nobody", "ops@example.org", "https:%2F%2Fevil.example"):
        refused = await web.call("POST", f"{API}/contacts/{name}/test", Role.OPERATOR)
        assert refused.status_code == 404
