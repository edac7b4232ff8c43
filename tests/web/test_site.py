"""What answers machines: health, metrics, and errors as problems."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from leitstand.access import AccessLedger, Gate
from leitstand.errors import LeitstandError
from leitstand.health import Check, Readiness
from leitstand.live import Hub, MessageLedger
from leitstand.metrics import OwnMetrics, Source
from leitstand.store.database import Database
from leitstand.web import Site, Status, bind, build_site, serving
from leitstand.web.http_server import ListenError
from tests.web.scene import controls_on

ODD = "<script>alert('&')</script> \u202e\x00 ü"


class Sound:
    """A source that answers."""

    name = "sound"

    async def collect(self) -> Sequence[Metric]:
        return [GaugeMetricFamily("sound_value", ODD, 5)]


class Raising:
    """A source with a fault."""

    name = "raising"

    async def collect(self) -> Sequence[Metric]:
        raise ZeroDivisionError("postgresql://u:secret@h/d")


class Hanging:
    """A source that never answers."""

    name = "hanging"

    async def collect(self) -> Sequence[Metric]:
        await asyncio.Event().wait()
        return []


async def well() -> None:
    """All is well."""


async def hang() -> None:
    await asyncio.Event().wait()


async def leak() -> None:
    raise RuntimeError("cannot connect to postgresql://u:secret@h/d")


async def say() -> None:
    raise LeitstandError("no room", detail="postgresql://u:secret@h/d")


async def no_status() -> Status:
    raise AssertionError("the pages have tests of their own")


def site(
    checks: dict[str, Check] | None = None,
    sources: Sequence[Source] = (),
    *,
    metrics_open: bool = False,
) -> FastAPI:
    """A site whose database nobody asks."""
    database = Database("host=/nowhere")
    return build_site(
        Site(
            readiness=Readiness(checks or {}, timeout=0.2),
            metrics=OwnMetrics(sources),
            status=no_status,
            gate=Gate(AccessLedger(database), 60.0),
            controls=controls_on(database, Path("/nowhere")),
            hub=Hub(MessageLedger(database)),
            messages=MessageLedger(database),
            listen_host="control.example",
            metrics_open=metrics_open,
        )
    )


async def get(
    app: FastAPI, path: str, client: str = "127.0.0.1", host: str = "localhost:8080"
) -> httpx.Response:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://leitstand") as caller:
        return await caller.get(path, headers={"Host": host})


@pytest.mark.parametrize(
    ("client", "code"),
    [
        ("127.0.0.1", 200),
        ("127.9.9.9", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("::ffff:10.0.0.1", 401),
        ("10.0.0.1", 401),
        ("2001:db8::1", 401),
        ("", 401),
        ("testclient", 401),
    ],
)
async def test_metrics_without_credentials_on_this_machine(client: str, code: int) -> None:
    assert (await get(site(), "/metrics", client)).status_code == code


async def test_metrics_that_are_open() -> None:
    assert (await get(site(metrics_open=True), "/metrics", "10.0.0.1")).status_code == 200


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:8080", 200),
        ("127.9.9.9", 200),
        ("[::1]:8080", 200),
        ("control.example:8080", 200),
        ("attacker.example", 401),
        ("localhost.attacker.example:8080", 401),
        ("127.0.0.1.attacker.example", 401),
        ("10.0.0.1:8080", 401),
        ("", 401),
        (":8080", 401),
        ("[", 401),
    ],
)
async def test_metrics_only_for_requests_that_name_this_machine(host: str, code: int) -> None:
    """A page of an attacker whose name resolves to 127.0.0.1 reads nothing."""
    answer = await get(site(), "/metrics", host=host)
    assert answer.status_code == code
    assert "attacker" not in answer.text


async def test_two_host_headers_name_nobody() -> None:
    transport = httpx.ASGITransport(site(), client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://leitstand") as caller:
        headers = [("Host", "localhost"), ("Host", "attacker")]
        answer = await caller.get("/metrics", headers=headers)
    assert answer.status_code == 401


async def test_health_asks_for_no_name() -> None:
    """A balancer's check calls by the address that it knows."""
    assert (await get(site(), "/livez", "10.0.0.1", "lb.example")).status_code == 200


@pytest.mark.parametrize(
    ("path", "client", "status", "code"),
    [
        ("/nothing", "127.0.0.1", 404, "NOT_FOUND"),
        ("/livez/", "127.0.0.1", 404, "NOT_FOUND"),
        ("/metrics", "10.0.0.1", 401, "UNAUTHENTICATED"),
        ("/api/v1/jobs", "127.0.0.1", 401, "UNAUTHENTICATED"),
        ("/api/openapi.json", "127.0.0.1", 401, "UNAUTHENTICATED"),
    ],
)
async def test_errors_are_problems(path: str, client: str, status: int, code: str) -> None:
    answer = await get(site(), path, client)
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert {"type", "title", "detail", "remedy"} <= set(problem)
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::"])
async def test_head_answers_like_get_without_body_over_both_families(host: str) -> None:
    with bind(host, 0) as listener:
        port = listener.getsockname()[1]
        called = ["127.0.0.1", "[::1]"] if host == "::" else [f"[{host}]" if ":" in host else host]
        async with serving(site({"queue": well}), listener), httpx.AsyncClient() as caller:
            for name in called:
                for path in ("/livez", "/readyz", "/metrics", "/login"):
                    get_answer = await caller.get(f"http://{name}:{port}{path}")
                    head = await caller.head(f"http://{name}:{port}{path}")
                    assert (get_answer.status_code, head.status_code) == (200, 200)
                    assert head.content == b""
                    assert head.headers["content-type"] == get_answer.headers["content-type"]
            posted = await caller.post(f"http://{called[0]}:{port}/livez")
    assert posted.status_code == 405
    assert set(posted.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert posted.json()["code"] == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize("host", ["203.0.113.1", "2001:db8::1", "x" * 70])
def test_an_address_that_cannot_be_used_is_named(host: str) -> None:
    with pytest.raises(ListenError) as caught:
        bind(host, 1)
    place = f"[{host}]:1" if ":" in host else f"{host}:1"
    assert f"cannot listen on {place}: " in caught.value.message


async def test_health_answers_everybody() -> None:
    assert (await get(site(), "/livez", "10.0.0.1")).json() == {"status": "alive"}
    ready = await get(site({"queue": well}), "/readyz", "10.0.0.1")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


async def test_a_check_costs_its_timeout_and_tells_no_secret() -> None:
    checks: dict[str, Check] = {"well": well, "hang": hang, "leak": leak, "say": say}
    async with asyncio.timeout(2):
        answer = await get(site(checks), "/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "not_ready",
        "checks": {
            "well": {"ok": True},
            "hang": {"ok": False, "error": "no answer within 0.2 s"},
            "leak": {"ok": False, "error": "the check itself failed; see the log"},
            "say": {"ok": False, "error": "no room"},
        },
    }


async def test_a_source_costs_only_its_own_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leitstand.metrics.own.SOURCE_TIMEOUT", 0.2)
    async with asyncio.timeout(20):
        answer = await get(site(sources=[Raising(), Hanging(), Sound()]), "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["sound_value"].samples[0].value == 5
    up = {s.labels["source"]: s.value for s in families["leitstand_core_source_up"].samples}
    assert up == {"raising": 0, "hanging": 0, "sound": 1}
    assert "secret" not in answer.text


async def test_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    """Headers and body are two packets; with Nagle's algorithm the second would wait 40 ms."""
    with bind("127.0.0.1", 0) as listener, socket.socket() as client:
        client.connect(listener.getsockname())
        with listener.accept()[0] as connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
