"""What a real Prometheus makes of the page, in both formats."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response

from leitstand.metrics import OwnMetrics
from leitstand.metrics.aggregate import Aggregate
from leitstand.web import bind
from leitstand.web import serving as serving_site
from tests.jobs.scene import eventually
from tests.metrics.targets import answer, serving
from tests.metrics.test_aggregate import LIMITS, Registry
from tests.metrics.test_module_page import SOUND
from tests.ports import free_port

CONFIG = """\
global: {{scrape_interval: 500ms, scrape_timeout: 400ms}}
scrape_configs:
  - job_name: leitstand
    static_configs: [{{targets: ["{target}"]}}]
"""


@asynccontextmanager
async def showing(aggregate: Aggregate, accept: str | None) -> AsyncIterator[str]:
    """The address of a site with the page; ``accept`` in the place of what callers ask for."""
    app = FastAPI()

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        page = await aggregate.exposition(accept or request.headers["accept"])
        return Response(page.body, media_type=page.media_type)

    with bind("127.0.0.1", 0) as listener:
        async with serving_site(app, listener):
            yield f"127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def prometheus(directory: Path, target: str) -> AsyncIterator[httpx.AsyncClient]:
    """A Prometheus that scrapes the target, and a way to ask it."""
    config, port = directory / "prometheus.yml", free_port()
    config.write_text(CONFIG.format(target=target))
    arguments = (
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    process = await asyncio.create_subprocess_exec(
        "prometheus", *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as caller:
            yield caller
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("accept", [None, "text/plain"])
async def test_it_scrapes_every_series(tmp_path: Path, accept: str | None) -> None:
    """Left to itself it asks for OpenMetrics."""
    async with (
        serving(answer(SOUND + b'age_seconds{kind="\xc3\xbc"} 5\nbroken{ 1\n')) as url,
        showing(Aggregate(OwnMetrics([]), Registry({"web": url}), LIMITS), accept) as target,
        prometheus(tmp_path, target) as caller,
    ):

        async def ask(query: str) -> list[Any]:
            try:
                found = await caller.get("/api/v1/query", params={"query": query})
            except httpx.TransportError:  # it is starting, and so it may be below
                return []
            if found.status_code == 503:
                return []
            result: list[Any] = found.json()["data"]["result"]
            return result

        async def scraped() -> bool | None:
            return bool(await ask("leitstand_module_up == 1")) or None

        await eventually(scraped)
        assert [each["value"][1] for each in await ask("up")] == ["1"]
        assert len(await ask('{__name__=~"leitstand_module_web_(took|size).*"}')) == 8
        for query, value in (
            ('leitstand_module_web_age_seconds{kind="ü"}', "5"),
            ('leitstand_module_web_age_seconds{kind="inf"}', "+Inf"),
            ("leitstand_module_web_jobs", "9007199254740992"),
            ('leitstand_module_scrape_dropped_total{reason="malformed"} > 0', None),
        ):
            (sample,) = await ask(query)
            assert value in (None, sample["value"][1])
