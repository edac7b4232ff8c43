"""The pages of alerts, notifications, modules and settings: what they show, and their buttons."""

import re
from html.parser import HTMLParser

import pytest

from leitstand.access import Role
from leitstand.flags import FlagChange
from tests.alerts.scene import METRIC
from tests.web.scene import Web, metrics_now
from tests.web.test_notification_api import fail_all, queued

PAGES = ("/alerts", "/notifications", "/modules", "/settings")
SECRET = "https://hooks.example/T0/hidden"


@pytest.fixture
async def watched(web: Web) -> Web:
    """A site with one of everything that these pages show."""
    rule = {"metric_name": METRIC, "comparison": "gt", "threshold": 90, "recipient": SECRET}
    await web.call("PUT", "/api/v1/alert-rules/full", json=rule)
    await web.controls.evaluator.evaluate(await metrics_now())
    await fail_all(web.controls.outbox)
    await web.controls.modules.register("shop", "1.0", ["new-ui"])
    await web.controls.credentials.provision("shop")
    await web.controls.flag_ledger.change("new-ui", FlagChange(rollout_percentage=30))
    await web.controls.settings.save("mail.sender", ["<b>"], changed_by="ann")
    return web


async def test_an_alert_is_acknowledged_and_silenced(watched: Web) -> None:
    async with watched.browser() as browser:
        page = (await browser.get("/alerts")).text
        assert "host=db1, path=/a&#34;b" in page
        assert "disk_used &gt; 90" in page
        (acknowledge,) = re.findall(r'action="([^"]+/acknowledge)"', page)
        assert (await browser.post(acknowledge)).headers["location"] == "/alerts"
        assert "by root" in (await browser.get("/alerts")).text
        form = {"rule": "full", "label": "host=db1", "for": "2h", "reason": "rack moves"}
        assert (await browser.post("/alerts/silences", data=form)).status_code == 303
        page = (await browser.get("/alerts")).text
        assert "rack moves" in page
        (expire,) = re.findall(r'action="([^"]+/expire)"', page)
        await browser.post(expire)
        assert "No silences." in (await browser.get("/alerts")).text
        for wrong in ({"for": "2h"}, {"rule": "full", "for": "x"}, {"label": "x", "for": "1h"}):
            assert (await browser.post("/alerts/silences", data=wrong)).status_code == 400
    assert "No such alerts." in (await watched.get("/alerts?state=resolved")).text
    assert (await watched.get("/alerts?state=odd")).status_code == 400


async def test_dead_messages_are_tried_again_and_contacts_tested(watched: Web) -> None:
    async with watched.browser() as browser:
        page = (await browser.get("/notifications?status=failed")).text
        assert "550 no such user" in page
        (retry,) = re.findall(r'action="(/notifications/\d+/retry)"', page)
        assert (await browser.post(retry)).status_code == 303
        assert "No such notifications." in (await browser.get("/notifications?status=failed")).text
        await fail_all(watched.controls.outbox)
        await browser.post("/notifications/retry-failed")
        assert "No such notifications." in (await browser.get("/notifications?status=failed")).text
        await browser.post("/notifications/test/default")
        assert "ops@example.org" in (await browser.get("/notifications?status=pending")).text
    assert (await watched.get("/notifications?status=odd")).status_code == 400


async def test_the_list_of_messages_is_turned_over(web: Web) -> None:
    await queued(web, *(f"a{n}@x" for n in range(60)))
    page = (await web.get("/notifications")).text
    assert "a59@x" in page
    assert "a9@x" not in page
    (older,) = re.findall(r'href="([^"]+)">Older', page)
    assert "a9@x" in (await web.get(older.replace("&amp;", "&"))).text


async def test_modules_and_health(watched: Web) -> None:
    page = (await watched.get("/modules")).text
    assert "new-ui (not on for all)" in page
    assert "It is ready." in page


async def test_a_flag_is_switched_by_administrators(watched: Web) -> None:
    page = (await watched.get("/settings")).text
    assert "[&#34;&lt;b&gt;&#34;]" in page
    async with watched.browser(Role.OPERATOR) as browser:
        assert "Switch on" not in (await browser.get("/settings")).text
        assert (await browser.post("/settings/flags/new-ui/on")).status_code == 403
    async with watched.browser(Role.ADMIN) as browser:
        assert (await browser.post("/settings/flags/new-ui/on")).status_code == 303
        assert "Switch new-ui off" in (await browser.get("/settings")).text
        await browser.post("/settings/flags/new-ui/off")
        assert (await browser.post("/settings/flags/nothing/on")).status_code == 404
    flag = await watched.controls.flag_ledger.find("new-ui")
    assert (flag.flag.enabled, flag.flag.rollout_percentage, flag.changed_by) == (False, 30, "root")


@pytest.mark.parametrize("path", PAGES)
async def test_viewers_get_no_buttons_and_nobody_a_secret(watched: Web, path: str) -> None:
    """Case 44."""
    page = (await watched.get(path)).text
    assert 'method="post"' not in page.replace('action="/logout"', "")
    assert "hidden" not in page


async def test_buttons_take_no_clicks_from_other_sites(watched: Web) -> None:
    for path in ("/alerts/1/acknowledge", "/notifications/retry-failed", "/notifications/test/log"):
        async with watched.browser() as browser:
            foreign = await browser.post(path, headers={"Sec-Fetch-Site": "cross-site"})
        assert (foreign.status_code, foreign.json()["code"]) == (403, "CROSS_SITE")


class _Reader(HTMLParser):
    """Notes what a reader that cannot see goes by: headings, labels, names of buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.unlabelled: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("h1", "h2"):
            self.headings.append(tag)
        hidden = given.get("type") == "hidden" or "aria-label" in given
        if tag in ("input", "select") and "label" not in self._inside and not hidden:
            self.unlabelled.append(str(given.get("name")))
        if tag == "label":
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "label":
            self._inside.pop()


@pytest.mark.parametrize("path", PAGES)
async def test_pages_can_be_heard(watched: Web, path: str) -> None:
    """One heading at the top, the others below it; every field has a label; buttons say of what."""
    async with watched.browser(Role.ADMIN) as browser:
        page = (await browser.get(path)).text
    reader = _Reader()
    reader.feed(page)
    assert reader.headings[0] == "h1"
    assert reader.headings.count("h1") == 1
    assert reader.unlabelled == []
    names = re.findall(r"<button(?: aria-label=\"([^\"]+)\")?>([^<]+)</button>", page)
    said = [label or text for label, text in names]
    assert len(said) == len(set(said)), said
