"""The kind ``http`` against a real server: what counts as success, what as which failure."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leitstand.errors import FailureClass, LeitstandError
from leitstand.execution.executor import Result
from leitstand.execution.http import HttpExecutor
from leitstand.execution.http_params import HttpParams
from tests.execution.http_server import CERTIFICATE, Asked, WebServer, web_server
from tests.execution.run_scene import Recorded, facts

PERMANENT, TRANSIENT = FailureClass.PERMANENT, FailureClass.TRANSIENT


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with web_server() as server:
        yield server


async def request(url: str, reporter: Recorded | None = None, **params: Any) -> Result:
    asked = HttpParams.model_validate({"url": url, "deadline": 10, **params})
    return await HttpExecutor().execute(asked, facts("http"), reporter or Recorded())


async def failing(url: str, **params: Any) -> LeitstandError:
    with pytest.raises(LeitstandError) as caught:
        await request(url, **params)
    return caught.value


async def test_an_expected_answer_is_success(web: WebServer) -> None:
    reporter = Recorded()
    result = await request(web.says("/ok", body=b"all well"), reporter)
    assert result.bytes_processed == 8
    facts_of_it = dict(result.result)
    assert facts_of_it.pop("duration") > 0
    assert facts_of_it == {"status": 200, "bytes": 8, "truncated": False, "redirects": 0}
    (line,) = reporter.lines
    assert line.startswith(f"GET {web.url('/ok')}: 200, 8 bytes, ")


async def test_method_headers_and_bodies_arrive(web: WebServer, tmp_path: Path) -> None:
    url = web.says("/hook", "204 No Content")
    file = tmp_path / "headers"
    file.write_text("# the monitoring's\nAuthorization: Bearer abc:def \n\nX-Team: ops\n")
    await request(url, method="post", json={"a": None}, headers_file=str(file))
    await request(url, method="PUT", body="ü", headers={"Content-Type": "text/plain"})
    first, second = web.asked
    assert (first.method, json.loads(first.body)) == ("POST", {"a": None})
    assert first.headers["authorization"] == "Bearer abc:def"
    assert first.headers["x-team"] == "ops"
    assert first.headers["user-agent"].startswith("leitstand/")
    assert (second.body, second.headers["content-type"]) == ("ü".encode(), "text/plain")


@pytest.mark.parametrize(
    ("status", "expected", "failure"),
    [
        ("200 OK", None, None),
        ("204 No Content", None, None),
        ("404 Not Found", None, PERMANENT),
        ("429 Too Many Requests", None, TRANSIENT),
        ("500 Oops", None, TRANSIENT),
        ("503 Busy", None, TRANSIENT),
        ("503 Busy", [503], None),
        ("404 Not Found", [200, "4xx"], None),
        ("200 OK", 201, PERMANENT),
        ("301 Moved", "300-399", None),
    ],
)
async def test_the_status_decides(
    web: WebServer, status: str, expected: Any, failure: FailureClass | None
) -> None:
    url = web.says("/x", status, b"why it is so")
    params = {} if expected is None else {"expected_status": expected}
    if failure is None:
        assert (await request(url, **params)).result["status"] == int(status[:3])
        return
    error = await failing(url, **params)
    assert (error.code, error.failure_class) == ("HTTP_STATUS", failure)
    assert f"answered {status[:3]}" in error.message
    assert error.detail == "why it is so"


@pytest.mark.parametrize(
    ("params", "fits"),
    [
        ({"body_match": "status: ok"}, True),
        ({"body_match": "Status"}, False),
        ({"body_match": "größer"}, True),
        ({"body_regex": r"nodes: [3-9]\b"}, True),
        ({"body_regex": r"nodes: [4-9]\b"}, False),
    ],
)
async def test_the_body_decides_too(web: WebServer, params: dict[str, Any], fits: bool) -> None:
    kind = "text/plain; charset=iso-8859-1"
    body = "status: ok, nodes: 3, größer".encode("latin-1")
    url = web.says("/health", body=body, Content_Type=kind)
    if fits:
        await request(url, **params)
        return
    error = await failing(url, **params)
    assert (error.code, error.failure_class) == ("HTTP_MISMATCH", PERMANENT)
    assert error.detail == "status: ok, nodes: 3, größer"


@pytest.mark.parametrize("charset", ["punycode", "no-such-thing", "base64"])
async def test_a_strange_charset_is_read_as_utf8(web: WebServer, charset: str) -> None:
    url = web.says("/", body="größer".encode(), Content_Type=f"text/plain; charset={charset}")
    await request(url, body_match="größer")


async def test_an_expression_without_end_holds_nobody_up(web: WebServer) -> None:
    url = web.says("/", body=b"a" * 50 + b"!")
    pings = asyncio.create_task(longest_pause())
    error = await failing(url, body_regex=r"(a+)+$", deadline=1.5)
    assert error.code == "HTTP_TIMEOUT"
    pings.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pings


async def longest_pause() -> None:
    """Fails when the event loop was held up for a second."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(0.01)
        assert time.monotonic() - before < 1


async def test_a_redirect_is_refused_unless_allowed(web: WebServer) -> None:
    web.says("/new", body=b"here")
    url = web.says("/old", "302 Found", Location="/new?token=opensesame")
    error = await failing(url)
    assert (error.code, error.failure_class) == ("HTTP_REDIRECT", PERMANENT)
    assert "redirects (302) to /new" in error.message
    assert "opensesame" not in error.message
    assert len(web.asked) == 1
    result = await request(url, follow_redirects=True)
    assert result.result["redirects"] == 1


async def test_redirects_end_and_lead_to_no_other_scheme(web: WebServer) -> None:
    circle = web.says("/circle", "307 Again", Location="/circle")
    assert "more than 5" in (await failing(circle, follow_redirects=True)).message
    astray = web.says("/astray", "302 Found", Location="file:///etc/passwd")
    error = await failing(astray, follow_redirects=True)
    assert (error.code, error.failure_class) == ("HTTP_REDIRECT", PERMANENT)


async def test_another_server_gets_no_header_of_the_job(web: WebServer) -> None:
    async with web_server() as other:
        there = other.says("/there")
        url = web.says("/old", "307 Away", Location=there)
        headers = {"X-Api-Key": "opensesame", "Authorization": "Basic abcd"}
        await request(url, follow_redirects=True, headers=headers)
        assert web.asked[0].headers["x-api-key"] == "opensesame"
        assert not {"x-api-key", "authorization"} & set(other.asked[0].headers)


async def test_no_redirect_leads_out_of_encryption(web: WebServer) -> None:
    async with web_server(tls=True) as safe:
        url = safe.says("/", "302 Found", Location=web.says("/plain"))
        error = await failing(url, follow_redirects=True, ca_file=str(CERTIFICATE))
    assert error.code == "HTTP_REDIRECT"
    assert web.asked == []


async def test_a_slow_drip_is_cut_off_at_the_deadline(web: WebServer) -> None:
    """Each read is quick; only the whole is not."""
    drops = asyncio.Event()

    async def drip(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            drops.set()
            await asyncio.sleep(0.05)

    began = time.monotonic()
    error = await failing(web.does("/drip", drip), deadline=0.8)
    assert (error.code, error.failure_class) == ("HTTP_TIMEOUT", TRANSIENT)
    assert drops.is_set()
    assert time.monotonic() - began < 5


async def test_a_huge_body_is_read_up_to_the_limit(web: WebServer) -> None:
    sent = 0

    async def flood(_: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\nbegin")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    url = web.does("/flood", flood)
    result = await request(url, max_body=200_000, body_match="begin")
    assert result.result["bytes"] == 200_000
    assert result.result["truncated"] is True
    assert sent < 50_000_000
    error = await failing(url, max_body=200_000, body_match="end")
    assert "not in the first 200000 bytes of the body" in error.message


async def test_a_body_is_never_unpacked(web: WebServer) -> None:
    """What would become huge stays what it is."""
    url = web.says("/", body=b"\x1f\x8b not really", Content_Encoding="gzip")
    assert (await request(url)).result["bytes"] == 13
    assert web.asked[0].headers["accept-encoding"] == "identity"


async def test_nobody_there_and_a_server_that_hangs_up(web: WebServer) -> None:
    async def hang_up(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    async def nonsense(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")

    async with web_server() as gone:
        nobody = gone.url("/")
    for url in (nobody, web.does("/half", hang_up), web.does("/ssh", nonsense)):
        error = await failing(url)
        assert (error.code, error.failure_class) == ("HTTP_UNREACHABLE", TRANSIENT)
        assert url in error.message
    assert "Connection refused" in (await failing(nobody)).message


async def test_a_certificate_that_nobody_vouches_for(web: WebServer) -> None:
    async with web_server(tls=True) as safe:
        url = safe.says("/")
        error = await failing(url)
        assert (error.code, error.failure_class) == ("HTTP_TLS", PERMANENT)
        assert "certificate verify failed" in error.message
        await request(url, ca_file=str(CERTIFICATE))
        await request(url, verify=False)
        assert (await failing(url, ca_file="/no/such/file")).code == "HTTP_TLS"


async def test_the_environment_chooses_no_way(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9/")
    await request(web.says("/"))


SECRETS = (
    "opensesame",
    "hunter22",
    "sw%C3%B6rdfish",
    "swördfish",
    "YWRtaW46aHVudGVyMjI=",
    "k3y-k3y",
)


@pytest.mark.parametrize("trouble", ["status", "mismatch", "gone", "slow", "redirect", "fine"])
async def test_no_secret_is_ever_shown(
    web: WebServer, trouble: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server quotes everything that it was sent, and all of it comes back masked."""
    caplog.set_level("DEBUG")

    async def quote(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if trouble == "slow":
            await asyncio.sleep(30)
        status = {"status": "500 Oops", "redirect": "302 Found"}.get(trouble, "200 OK")
        body = f"{asked.target} {asked.headers} {' '.join(SECRETS)}".encode()
        location = f"Location: http://admin:hunter22@x{asked.target}\r\n"
        head = f"HTTP/1.1 {status}\r\n{location}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)

    web.does("/q", quote)
    if trouble == "gone":
        async with web_server() as gone:
            web = gone
    url = web.url("/q?key=sw%C3%B6rdfish&flag", user="admin:hunter22@")
    file = tmp_path / "headers"
    file.write_text("X-Key: k3y-k3y\n")
    params: dict[str, Any] = {
        "headers": {"Authorization": "Bearer opensesame"} if trouble != "fine" else {},
        "headers_file": str(file),
        "deadline": 0.5 if trouble == "slow" else 10,
        "body_match": "nowhere" if trouble == "mismatch" else None,
    }
    reporter = Recorded()
    if trouble == "fine":
        shown = json.dumps(dict((await request(url, reporter, **params)).result))
    else:
        with pytest.raises(LeitstandError) as caught:
            await request(url, reporter, **params)
        shown = json.dumps(caught.value.as_dict(), ensure_ascii=False)
        assert "127.0.0.1" in shown
    everything = "\n".join([shown, *reporter.lines, caplog.text])
    assert [secret for secret in SECRETS if secret in everything] == []


async def test_the_excerpt_is_short_and_cuts_no_secret_in_two(web: WebServer) -> None:
    secret = "opensesame" * 10
    url = web.says("/", "500 Oops", (secret.encode() + b" ") * 2000)
    error = await failing(url, headers={"X-Key": secret})
    assert error.detail is not None
    assert len(error.detail) <= 1024
    assert "open" not in error.detail


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Authorization Bearer opensesame", "line 2 is no header"),
        ("X-Key: open\x01sesame", "line 2 is no header"),
    ],
)
async def test_a_headers_file_that_cannot_be_used(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "headers"
    file.write_text(f"X-Team: ops\n{line}\n")
    error = await failing("http://127.0.0.1:9/", headers_file=str(file))
    assert (error.code, error.failure_class) == ("HTTP_HEADERS_FILE", PERMANENT)
    assert message in error.message
    assert "sesame" not in str(error.as_dict())
    missing = await failing("http://127.0.0.1:9/", headers_file=str(tmp_path / "none"))
    assert "No such file" in missing.message


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"url": "ftp://host/"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://host:99999/"}, "url"),
        ({"url": "http://host/a b"}, "url"),
        ({"method": "BREW"}, "method"),
        ({"headers": {"X Y": "z"}}, "headers"),
        ({"headers": {"X": "a\r\nY: b"}}, "headers"),
        ({"headers_file": "relative"}, "headers_file"),
        ({"expected_status": []}, "expected_status"),
        ({"expected_status": [99]}, "expected_status.0"),
        ({"expected_status": ["299-200"]}, "expected_status.0"),
        ({"expected_status": [True]}, "expected_status.0"),
        ({"body_regex": "("}, "body_regex"),
        ({"deadline": "soon"}, "deadline"),
        ({"deadline": 0}, "deadline"),
        ({"max_body": 1}, "max_body"),
        ({"body": "a", "json": 1}, ""),
        ({"method": "HEAD", "body_match": "x"}, ""),
        ({"verify": False, "ca_file": "/x"}, ""),
        ({"redirects": True}, "redirects"),
    ],
)
def test_mistakes_are_refused_when_the_job_is_saved(params: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match="1 validation error") as caught:
        HttpParams.model_validate({"url": "http://host/", **params})
    errors = caught.value.errors()  # type: ignore[attr-defined]  # pydantic's
    assert ".".join(str(part) for part in errors[0]["loc"]) == field
