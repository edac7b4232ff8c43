"""The pages: who may see them, and what they make of odd content."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from leitstand.archive import Drill, DrillKind
from leitstand.errors import LeitstandError
from leitstand.health import Check, Readiness
from leitstand.metrics import OwnMetrics, Source
from leitstand.web import Site, Status, build_site, problems_of

NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
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
    drill = Drill(NOW, DrillKind.DATABASE, ODD, success=False, detail=ODD)
    return Status(NOW, [], [], [], [], [drill], problems_of([], [], [drill]))


def site(checks: dict[str, Check] | None = None, sources: Sequence[Source] = ()) -> FastAPI:
    readiness = Readiness(checks or {}, timeout=0.2)
    return build_site(Site(readiness, OwnMetrics(sources), no_status))


async def get(app: FastAPI, path: str, client: str = "127.0.0.1") -> httpx.Response:
    transport = httpx.ASGITransport(app, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://leitstand") as caller:
        return await caller.get(path)


@pytest.mark.parametrize("path", ["/", "/metrics"])
@pytest.mark.parametrize(
    ("client", "code"),
    [
        ("127.0.0.1", 200),
        ("127.9.9.9", 200),
        ("::1", 200),
        ("10.0.0.1", 403),
        ("2001:db8::1", 403),
        ("", 403),
        ("testclient", 403),
    ],
)
async def test_only_callers_on_this_machine(path: str, client: str, code: int) -> None:
    assert (await get(site(), path, client)).status_code == code


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


async def test_odd_content_is_escaped() -> None:
    page = await get(site(), "/")
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;" in page.text
    assert "The last restore drill failed" in page.text
    assert "There is no backup yet." in page.text


async def test_a_source_costs_only_its_own_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leitstand.metrics.own.SOURCE_TIMEOUT", 0.2)
    async with asyncio.timeout(2):
        answer = await get(site(sources=[Raising(), Hanging(), Sound()]), "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["sound_value"].samples[0].value == 5
    up = {s.labels["source"]: s.value for s in families["leitstand_core_source_up"].samples}
    assert up == {"raising": 0, "hanging": 0, "sound": 1}
    assert "secret" not in answer.text
