"""Logging in and out; and what browsers may be made to do by pages of others."""

import pytest

from leitstand.access import Role
from leitstand.access.gate import LIMIT
from leitstand.web.callers import COOKIE
from tests.web.scene import HOST, OWN_PAGE, Web


async def test_a_page_sends_to_the_login_and_back(web: Web) -> None:
    async with web.client(headers=OWN_PAGE) as browser:
        asked = await browser.get("/runs?job=x")
        assert asked.status_code == 303
        assert asked.headers["location"] == "/login?next=%2Fruns%3Fjob%3Dx"
        page = await browser.get(asked.headers["location"])
        assert 'value="/runs?job=x"' in page.text
        wrong = await browser.post("/login", data={"token": "lst_wrong", "next": "/runs"})
        assert wrong.status_code == 403
        assert "not valid" in wrong.text
        token = web.tokens[Role.VIEWER]
        right = await browser.post("/login", data={"token": f" {token} ", "next": "/runs"})
        assert (right.status_code, right.headers["location"]) == (303, "/runs")
        cookie = right.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert token not in cookie
        page = await browser.get("/runs")
        assert "viewer, viewer" in page.text
        out = await browser.post("/logout")
        assert out.headers["location"] == "/login"
        browser.cookies.set(COOKIE, cookie.partition("=")[2].partition(";")[0])
        assert (await browser.get("/runs")).status_code == 303


async def test_a_cookie_is_kept_to_safe_connections_where_there_is_one(web: Web) -> None:
    link = await web.controls.access.create_link(Role.ADMIN, "root", 60.0)
    async with web.client() as browser:
        answer = await browser.get(HOST.replace("http:", "https:") + f"/login/{link}")
    assert "Secure" in answer.headers["set-cookie"]


async def test_a_link_works_once(web: Web) -> None:
    link = await web.controls.access.create_link(Role.ADMIN, "root", 60.0)
    async with web.client() as first, web.client() as second:
        assert (await first.get(f"/login/{link}")).headers["location"] == "/"
        assert (await first.get("/")).status_code == 200
        late = await second.get(f"/login/{link}")
        assert "was used already" in late.text
        assert "set-cookie" not in late.headers
        assert (await first.get(f"/login/{link}")).headers["location"] == "/"


@pytest.mark.parametrize(
    "wanted", ["//evil.example", "https://evil.example", "/\\evil", "/a\nb", ""]
)
async def test_the_login_leads_to_no_other_site(web: Web, wanted: str) -> None:
    data = {"token": web.tokens[Role.VIEWER], "next": wanted}
    async with web.client(headers=OWN_PAGE) as browser:
        answer = await browser.post("/login", data=data)
    assert answer.headers["location"] == "/"


async def test_who_guesses_tokens_has_to_wait(web: Web) -> None:
    async with web.client(headers=OWN_PAGE) as browser:
        for _ in range(LIMIT):
            await browser.post("/login", data={"token": "lst_wrong"})
        answer = await browser.post("/login", data={"token": web.tokens[Role.ADMIN]})
        assert "too many attempts" in answer.text
    api = await web.get("/api/v1/jobs", Role.ADMIN)
    assert (api.status_code, api.json()["code"]) == (429, "TOO_MANY_FAILURES")
    assert 0 < int(api.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "", "Origin": HOST}, 303),
        ({"Sec-Fetch-Site": "cross-site", "Origin": HOST}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "http://localhost:9090"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "null"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
    ],
)
async def test_only_our_own_pages_change_anything_by_cookie(
    web: Web, headers: dict[str, str], status: int
) -> None:
    await web.scene.job("job", overlap="allow")
    async with web.browser() as browser:
        assert (await browser.post("/jobs/job/run", headers=headers)).status_code == status
        api = await browser.post("/api/v1/jobs/job/run", headers=headers)
        assert api.status_code == (202 if status == 303 else 403)
        assert (await browser.get("/runs", headers={"Sec-Fetch-Site": "none"})).status_code == 200


async def test_a_token_needs_no_proof_of_origin(web: Web) -> None:
    await web.scene.job("job")
    assert (await web.call("POST", "/api/v1/jobs/job/run", Role.OPERATOR)).status_code == 202


async def test_a_link_from_elsewhere_is_followed_by_the_browser_itself(web: Web) -> None:
    """A strict cookie stays at home then, so that the browser is asked to come again."""
    async with web.client(headers={"Sec-Fetch-Site": "cross-site"}) as browser:
        page = await browser.get("/runs?job=a&status=failed")
    assert page.status_code == 200
    assert 'content="0; url=/runs?job=a&amp;status=failed"' in page.text


async def test_a_wrong_token_is_no_reason_to_log_in(web: Web) -> None:
    async with web.client(headers={"Authorization": "Bearer lst_wrong"}) as client:
        answer = await client.get("/runs")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
