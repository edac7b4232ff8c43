"""Downtimes over the API and on pages: lists, status, timeline, dead letters."""

import re
import time
from typing import Any

from leitstand.access import Role
from tests.downtimes.core import ADD, SERVICE, START, T, body, life, message
from tests.web.downtimes import some_downtimes, take
from tests.web.scene import Web

ROOT = "/api/v1/downtimes"


async def listed(web: Web, path: str, limit: int = 50) -> list[Any]:
    """All items of a list, page by page."""
    items: list[Any] = []
    sign, cursor = "&" if "?" in path else "?", ""
    while True:
        answer = await web.get(f"{ROOT}{path}{sign}limit={limit}{cursor}")
        assert answer.status_code == 200, answer.text
        document = answer.json()
        assert len(document["items"]) <= limit
        items += document["items"]
        if document["next"] is None:
            return items
        cursor = f"&cursor={document['next']}"


async def test_what_the_core_has_is_listed_and_filtered(web: Web) -> None:
    await some_downtimes(web)
    assert [(one["kind"], one["state"]) for one in await listed(web, "")] == [
        ("host", "running"),
        ("service", "scheduled"),
    ]
    for query, ids in {
        "?state=running": [42],
        "?state=scheduled": [43],
        "?state=overdue": [],
        "?kind=service": [43],
        "?kind=host": [42],
        "?host=web01": [42, 43],
        "?host=web02": [],
        "?service=HTTP": [43],
        "?host=&state=&kind=": [42, 43],
    }.items():
        assert [one["internal_downtime_id"] for one in await listed(web, query)] == ids, query
    for query in ("state=ended", "kind=x", "cursor=odd", "cursor=e30x", "limit=0", "host=%00"):
        assert (await web.get(f"{ROOT}?{query}")).status_code == 400, query


async def test_pages_hold_everything_once(web: Web) -> None:
    """Many that start in one second, of hosts and services alike."""
    messages = [
        message(ADD, T - 10, downtime_id=number // 2, host_name=f"höst{number}", **fields)
        for number in range(12)
        for fields in ({}, SERVICE)
    ]
    await take(web, *(body(one) for one in messages))
    for path in ("", "/history"):
        found = await listed(web, path, 5)
        keys = {(one["hostname"], one["service_description"]) for one in found}
        assert (len(found), len(keys)) == (24, 24)


async def test_the_history_between_two_times(web: Web) -> None:
    first = life("cancelled", T, downtime_id=1)
    second = life("runs to its end", T + 10_000, downtime_id=2)
    await take(web, *(body(one) for one in (*first, *second)))
    found = await listed(web, "/history")
    assert [(one["internal_downtime_id"], one["state"]) for one in found] == [
        (2, "ended"),
        (1, "cancelled"),
    ]
    for query, ids in {
        "?from=2023-11-14T22:15:00Z": [2],  # the first was cancelled 50 s after its start, 22:13:20
        "?from=2023-11-14T22:15:00": [2],
        "?to=2023-11-14T23:13:00%2B01:00": [],
        "?to=2023-11-14T22:14:00Z": [1],
        "?from=2023-11-14T22:13:40Z&to=2023-11-15T12:00:00Z": [2, 1],
    }.items():
        found = await listed(web, f"/history{query}")
        assert [one["internal_downtime_id"] for one in found] == ids, query


async def test_is_it_in_downtime_now(web: Web) -> None:
    await some_downtimes(web)
    status = (await web.get(f"{ROOT}/status?host=web01")).json()
    assert (status["in_downtime"], status["downtimes"][0]["until"]) == (True, status["until"])
    assert not (await web.get(f"{ROOT}/status?host=web01&service=HTTP")).json()["in_downtime"]
    nothing = (await web.get(f"{ROOT}/status?host=none")).json()
    assert (nothing["in_downtime"], nothing["until"]) == (False, None)
    assert (await web.get(f"{ROOT}/status")).status_code == 400


async def test_dead_letters(web: Web) -> None:
    now = int(time.time())
    good = body(message(START, now, start_time=now, end_time=now + 60))
    await take(web, b"nonsense", b"\0<b>", good.replace(b'"fixed": 1', b'"fixed": 2'))
    path = f"{ROOT}/dead-letters"
    letters = await listed(web, "/dead-letters", 2)
    assert [one["reason"] for one in letters] == ["not_json", "not_json", "out_of_range"]
    last = f"{path}/{letters[2]['id']}"
    assert '"fixed": 2' in (await web.get(last)).json()["body"]
    assert (await web.call("POST", f"{last}/replay", Role.OPERATOR)).json()["rejected"] == 1
    await web.scene.rows("UPDATE downtime_dead_letters SET body = %s RETURNING id", good)
    assert (await web.call("POST", f"{last}/replay", Role.OPERATOR)).json() == {
        "applied": 1,
        "ignored": 0,
        "rejected": 0,
        "reasons": {},
        "ignored_reasons": {},
    }
    assert (await web.get(last)).status_code == 404
    assert (await web.get(f"{ROOT}/status?host=web01")).json()["in_downtime"]
    events = await web.scene.rows("SELECT name FROM events")
    assert [one["name"] for one in events] == ["downtime.started"]
    first = f"{path}/{letters[0]['id']}"
    assert (await web.call("DELETE", first)).status_code == 204
    assert (await web.call("DELETE", first)).status_code == 404


async def test_the_pages_show_odd_content(web: Web) -> None:
    now = int(time.time())
    odd: dict[str, Any] = {"host_name": "<b>&", "comment_data": "<script>alert(1)</script>"}
    times = {"start_time": now - 60, "end_time": now + 3600}
    await take(web, body(message(START, now, **times, **odd)), b"<script>alert(2)</script>")
    for path in ("", "/host?name=%3Cb%3E%26", "/dead-letters", "/dead-letters/1"):
        page = await web.get(f"/downtimes{path}")
        assert page.status_code == 200, path
        assert "<script>" not in page.text
        assert ("alert(" in page.text) == (path != "/dead-letters")
    page = await web.get("/downtimes")
    (link,) = re.findall('<a href="(/downtimes/host[^"]*)">&lt;b&gt;&amp;', page.text)
    assert "<rect " in (await web.get(link)).text


async def test_lists_are_turned_over(web: Web) -> None:
    adds = [message(ADD, T, downtime_id=number, **SERVICE) for number in range(60)]
    await take(web, *(body(one) for one in adds))
    for path, word in (("/downtimes", "Further"), ("/downtimes/history", "Older")):
        page = await web.get(f"{path}?host=web01&service=HTTP&kind=")
        assert page.text.count("<tr><td>") == 50
        (further,) = re.findall(rf'href="({path}\?[^"]+)">{word}', page.text)
        page = await web.get(further.replace("&amp;", "&"))
        assert page.text.count("<tr><td>") == 10
        assert word not in page.text
    page = await web.get("/downtimes/history?from=2023-01-01T00:00&to=2023-01-02T00:00")
    assert "No such downtimes." in page.text
    assert 'name="from" value="2023-01-01T00:00"' in page.text


async def test_a_timeline_has_a_lane_for_the_host_and_each_service(web: Web) -> None:
    await some_downtimes(web)
    page = await web.get("/downtimes/host?name=web01&days=1")
    assert re.findall("<h2>(.*)</h2>", page.text) == ["The host", "HTTP"]
    assert page.text.count("<rect ") == 2
    assert "web01 is in downtime until" in page.text
    assert "running, " in page.text
    empty = await web.get("/downtimes/host?name=none")
    assert "none is not in downtime." in empty.text
    assert "<rect " not in empty.text


async def test_a_letter_is_taken_in_again_by_a_button(web: Web) -> None:
    await take(web, b"nonsense")
    path = "/downtimes/dead-letters/1"
    assert f'action="{path}/replay"' not in (await web.get(path)).text
    async with web.browser() as browser:
        assert f'action="{path}/replay"' in (await browser.get(path)).text
        assert (await browser.post(f"{path}/replay")).headers["location"] == path
        good = body(message(ADD, T))
        await web.scene.rows("UPDATE downtime_dead_letters SET body = %s RETURNING id", good)
        again = await browser.post(f"{path}/replay")
        assert again.headers["location"] == "/downtimes/history"
        assert "web01" in (await browser.get(again.headers["location"])).text
