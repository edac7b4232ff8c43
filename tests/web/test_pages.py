"""The pages: what they show of odd content, what their buttons do, and for whom."""

import base64
import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leitstand.access import Role
from leitstand.archive import Drill, DrillKind
from leitstand.errors import LeitstandError, UnavailableError
from leitstand.jobs import JobSpec, RunStatus
from leitstand.store.database import Database
from leitstand.web import Status, problems_of
from tests.web.scene import Web, web_on

PAGES = [
    "/",
    "/runs",
    "/jobs",
    "/jobs/job",
    "/alerts",
    "/notifications",
    "/events",
    "/downtimes",
    "/downtimes/history",
    "/downtimes/host?name=x",
    "/downtimes/dead-letters",
    "/modules",
    "/settings",
    "/login",
    "/nothing",
]
NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
ODD = "<script>alert('&')</script> \u202e\x00 ü"


async def odd_status() -> Status:
    drill = Drill(NOW, DrillKind.DATABASE, ODD, success=False, detail=ODD)
    return Status(NOW, [], [], [], [], [drill], problems_of([], [], [drill]))


@pytest.fixture
async def odd(database: Database, tmp_path: Path) -> Web:
    return await web_on(database, tmp_path, odd_status)


async def test_odd_content_is_escaped(odd: Web) -> None:
    page = await odd.get("/")
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;" in page.text
    assert "The last restore drill failed" in page.text
    assert "There is no backup in the directory." in page.text


@pytest.mark.parametrize("path", PAGES)
async def test_pages_are_kept_strict(web: Web, path: str) -> None:
    """No script, no frame around them; their own style alone, by its digest."""
    await web.scene.job("job")
    async with web.client(Role.VIEWER, {"Accept": "text/html"}) as client:
        page = await client.get(path)
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    style = page.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert ("form-action 'self'" in policy) == ("<form" in page.text)
    assert not re.search(r"<script| style=| on\w+=|=\"https?://", page.text)
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("postgresql://u:secret@h/d"), 500, "INTERNAL"),
        (UnavailableError("no way to postgresql://u:secret@h/d", detail="secret"), 503, None),
        (LeitstandError("no", detail="secret", code="ODD"), 500, "ODD"),
    ],
)
async def test_a_page_that_fails_shows_no_internals(
    database: Database, tmp_path: Path, error: Exception, status: int, code: str | None
) -> None:
    async def failing() -> Status:
        raise error

    web = await web_on(database, tmp_path, failing)
    answer = await web.get("/")
    assert answer.status_code == status
    assert answer.json()["code"] == (code or "UNAVAILABLE")
    async with web.client(Role.VIEWER, {"Accept": "text/html"}) as client:
        page = await client.get("/")
    assert page.status_code == status
    assert (code or "UNAVAILABLE") in page.text
    for text in (answer, page):
        assert "secret" not in text.text
        assert "default-src 'none'" in text.headers["content-security-policy"]


async def test_the_list_of_runs_is_filtered_and_turned_over(web: Web) -> None:
    await web.scene.job("often", overlap="allow")
    await web.scene.job("other")
    for _ in range(60):
        await web.scene.queue.request("often")
    last = await web.scene.queue.request("other")
    page = await web.get("/runs?job=often&status=queued")
    assert page.text.count("<tr><td>") == 50
    assert f'/runs/{last.id}"' not in page.text
    (older,) = re.findall(r'href="(/runs\?[^"]+)">Older', page.text)
    page = await web.get(older.replace("&amp;", "&"))
    assert page.text.count("<tr><td>") == 10
    assert "Older" not in page.text
    assert "No such runs." in (await web.get("/runs?status=failed")).text
    assert (await web.get("/runs?status=odd")).status_code == 400
    assert (await web.get("/runs?job=nothing")).status_code == 404
    assert (await web.get("/runs?cursor=odd")).status_code == 400


async def test_buttons_of_a_job_and_its_run(web: Web) -> None:
    await web.scene.job("job", every="1h")
    async with web.browser() as browser:
        assert "Run now" in (await browser.get("/jobs/job")).text
        asked = await browser.post("/jobs/job/run")
        run = asked.headers["location"]
        assert asked.status_code == 303
        page = await browser.get(run)
        assert "queued" in page.text
        assert f'action="{run}/cancel"' in page.text
        await browser.post(f"{run}/cancel")
        page = await browser.get(run)
        assert "CANCELLED: cancelled before it started" in page.text
        again = await browser.post(f"{run}/retry")
        assert "attempt" in (await browser.get(again.headers["location"])).text
        await browser.post("/jobs/job/disable")
        assert "The job is disabled" in (await browser.get("/jobs/job")).text
        await browser.post("/jobs/job/enable")
        assert "No time is planned" not in (await browser.get("/jobs/job")).text
        refused = await browser.post(f"{run}/cancel", headers={"Accept": "text/html"})
    assert refused.status_code == 409
    assert "has ended already" in refused.text
    first = await web.scene.queue.get(int(run.rpartition("/")[2]))
    assert first.status is RunStatus.CANCELLED
    assert first.trigger_user == "root"


async def test_a_viewer_sees_no_buttons_and_may_not_press_them(web: Web) -> None:
    await web.scene.job("job")
    async with web.browser(Role.VIEWER) as browser:
        page = await browser.get("/jobs/job")
        assert "Run now" not in page.text
        assert (await browser.post("/jobs/job/run")).status_code == 403


async def test_a_log_is_shown_with_its_odd_content(web: Web) -> None:
    await web.scene.job("job")
    run = await web.scene.queue.request("job")
    await web.scene.rows(
        "INSERT INTO run_logs (run_id, text) SELECT %s, '<b>' || n || '</b>'"
        " FROM generate_series(1, 501) AS n RETURNING id",
        run.id,
    )
    page = await web.get(f"/runs/{run.id}")
    assert "&lt;b&gt;500&lt;/b&gt;" in page.text
    assert "&lt;b&gt;501" not in page.text
    (more,) = re.findall(r'href="([^"]+)">Further', page.text)
    assert "&lt;b&gt;501" in (await web.get(more)).text


async def test_secrets_of_a_job_are_masked(web: Web) -> None:
    params = {"argv": ["true"], "env": {"API_TOKEN": "hidden-value"}}
    await web.scene.jobs.save(JobSpec(name="job", kind="command", params=params))
    page = await web.get("/jobs/job")
    assert "API_TOKEN" in page.text
    assert "hidden-value" not in page.text
