"""Events, who listens to them, and log tables: over HTTP, and as pages."""

import re

import pytest

from leitstand.access import Role
from leitstand.events import NewEvent
from leitstand.events.detection import DetectionLedger
from leitstand.store.database import Database
from tests.web.scene import Web


@pytest.fixture
async def busy(web: Web, database: Database) -> Web:
    """Sixty events, two jobs that listen, and a log table that was read once."""
    for number in range(60):
        await web.controls.events.emit(
            NewEvent("odd" if number % 6 else "even", "x", {"n": number})
        )
    await web.scene.job("hears", event="run.failed:nightly")
    await web.scene.job("waits", event="no.such.event", enabled=False)
    await DetectionLedger(database).state("webtrees", "identity")
    await web.scene.rows(
        "UPDATE detection_sources SET state = 'unavailable', problem = 'gone', highest = 9,"
        " last_read_at = now() RETURNING name"
    )
    await web.scene.rows(
        "INSERT INTO detectors (source, event, checkpoint, late_rows)"
        " VALUES ('webtrees', 'login', 7, 3) RETURNING source"
    )
    return web


async def test_the_list_is_turned_over(busy: Web) -> None:
    first = (await busy.get("/api/v1/events?name=odd&limit=30")).json()
    second = (await busy.get(f"/api/v1/events?name=odd&limit=30&cursor={first['next']}")).json()
    numbers = [event["payload"]["n"] for event in (*first["items"], *second["items"])]
    assert numbers == [n for n in reversed(range(60)) if n % 6]
    assert second["next"] is None
    assert (await busy.get("/api/v1/events?state=consumed")).json()["items"] == []
    for wrong in ("cursor=x", "state=odd", "limit=0"):
        assert (await busy.get(f"/api/v1/events?{wrong}")).status_code == 400


async def test_one_event(busy: Web) -> None:
    event = (await busy.get("/api/v1/events")).json()["items"][0]
    assert (await busy.get(f"/api/v1/events/{event['id']}")).json() == event
    assert (await busy.get("/api/v1/events/999999")).status_code == 404
    assert (await busy.get("/api/v1/events/x")).status_code == 400


async def test_who_listens_to_what_nothing_produces(busy: Web) -> None:
    listeners = (await busy.get("/api/v1/events/listeners")).json()["items"]
    assert {each["job"]: each["enabled"] for each in listeners} == {"hears": True, "waits": False}
    unknown = {each["job"]: each["unknown_event"] for each in listeners}
    assert unknown == {"hears": False, "waits": True}
    jobs = {job["name"]: job for job in (await busy.get("/api/v1/jobs")).json()["items"]}
    assert jobs["waits"]["unknown_event"]
    catalogue = (await busy.get("/api/v1/events/catalog")).json()["items"]
    assert "run.failed:JOB" in {entry["name"] for entry in catalogue}


async def test_an_event_is_emitted(web: Web) -> None:
    body = {"name": "archive-written", "payload": {"n": 1}, "message_id": "m1"}
    made = await web.call("POST", "/api/v1/events", Role.OPERATOR, body)
    assert made.status_code == 201
    assert (made.json()["source"], made.json()["payload"]) == ("api:operator", {"n": 1})
    again = await web.call("POST", "/api/v1/events", Role.OPERATOR, body)
    assert (again.status_code, again.json()["id"]) == (200, made.json()["id"])
    assert (await web.call("POST", "/api/v1/events", Role.VIEWER, body)).status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"name": "x", "message_id": "a\0b"}, 400),
        ({"name": "two words"}, 400),
        ({"name": "e", "payload": []}, 400),
        ({"name": "e", "payloads": {}}, 400),
        ({"name": "e", "payload": {"x": "y" * 70_000}}, 413),
    ],
)
async def test_events_that_cannot_be(web: Web, body: object, status: int) -> None:
    assert (await web.call("POST", "/api/v1/events", json=body)).status_code == status


async def test_a_source_is_begun_anew(busy: Web) -> None:
    """Case 30: who did it and when is kept beside the event."""
    (source,) = (await busy.get("/api/v1/sources")).json()["items"]
    assert (source["name"], source["state"], source["problem"]) == (
        "webtrees",
        "unavailable",
        "gone",
    )
    assert source["detectors"][0]["behind"] == 2
    path = "/api/v1/sources/webtrees"
    assert (await busy.call("POST", f"{path}/reset", Role.VIEWER)).status_code == 403
    done = await busy.call("POST", f"{path}/reset", Role.OPERATOR)
    assert done.json() == {"source": "webtrees", "epoch": 2}
    (reset,) = (await busy.get(f"{path}/resets")).json()["items"]
    assert (reset["reset_by"], reset["epoch"]) == ("operator", 2)
    assert (await busy.call("POST", "/api/v1/sources/none/reset")).status_code == 404


async def test_the_page(busy: Web) -> None:
    page = (await busy.get("/events?name=odd")).text
    assert page.count('<tr><td><a href="/events/') == 50 + 1
    assert "unknown event" in page
    assert "unavailable: gone" in page
    assert "Older" not in page
    event = re.findall(r'href="(/events/\d+)"', page)[0]
    assert "&#34;n&#34;: 59" in (await busy.get(event)).text
    page = (await busy.get("/events")).text
    (older,) = re.findall(r'href="(/events\?[^"]+)">Older', page)
    assert "Older" not in (await busy.get(older.replace("&amp;", "&"))).text
    assert "No such events." in (await busy.get("/events?state=consumed")).text
    async with busy.browser() as browser:
        assert "Begin anew" in (await browser.get("/events/sources/webtrees")).text
        done = await browser.post("/events/sources/webtrees/reset")
        assert "somebody asked for it" in (await browser.get(done.headers["location"])).text
    assert "Begin anew</button>" not in (await busy.get("/events/sources/webtrees")).text
