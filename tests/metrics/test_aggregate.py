"""The page of all modules over HTTP: the hostile ones cost only themselves."""

import asyncio
import time
import tracemalloc
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from leitstand.errors import UnavailableError
from leitstand.metrics import OwnMetrics, scraping
from leitstand.metrics.aggregate import Aggregate
from leitstand.metrics.allowed_address import is_allowed
from leitstand.metrics.fetching import Failure, FetchLimits
from leitstand.metrics.module_page import ModulePage, read_page
from leitstand.metrics.scraping import ScrapeLimits, Scraper
from tests.metrics import targets
from tests.metrics.targets import Behaviour, answer, bomb, serving, zipped

LIMITS = ScrapeLimits(2.0, 50_000, FetchLimits(1 << 20, private=True))
REDIRECT = answer(b"", "Location: http://169.254.169.254/", status="302 Found")

HOSTILE: dict[str, tuple[Behaviour, Failure]] = {
    "hang": (targets.hang, Failure.TIMEOUT),
    "drip-head": (targets.drip_head, Failure.TIMEOUT),
    "drip-body": (targets.drip_body, Failure.TIMEOUT),
    "redirect": (REDIRECT, Failure.REDIRECT),
    "bomb": (bomb(100_000_000), Failure.SIZE),
    "endless": (targets.endless, Failure.SIZE),
    "endless-head": (targets.endless_head, Failure.TRUNCATED),
    "garbage": (targets.garbage, Failure.TRUNCATED),
    "error": (answer(b"a 1\n", status="500 Oops"), Failure.STATUS),
    "short": (answer(b"a 1\n", length=100), Failure.TRUNCATED),
    "no-end": (answer(b"a 1\nb 22"), Failure.TRUNCATED),
    "zip-short": (zipped(b"a 1\n" * 100, cut=8), Failure.TRUNCATED),
    "zip-wrong": (answer(b"a 1\n", "Content-Encoding: gzip"), Failure.FORMAT),
    "brotli": (answer(b"a 1\n", "Content-Encoding: br"), Failure.FORMAT),
    "other": (answer(b"a 1\n", "Content-Type: application/openmetrics-text"), Failure.FORMAT),
}


def series(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples of a page by name and labels."""
    families = text_string_to_metric_families(text.decode())
    return {(s.name, tuple(s.labels.items())): s.value for f in families for s in f.samples}


class Registry:
    """What is registered, as the test says."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self.urls = dict(urls)
        self.away: Exception | None = None

    async def __call__(self) -> Mapping[str, str]:
        if self.away:
            raise self.away
        return dict(self.urls)


async def test_fifty_hostile_modules_and_two_good_ones() -> None:
    """Cases 1, 2, 15: within 2.5 s, the good ones complete, each failure told by its reason."""
    good = b"".join(b'good_value{n="%d"} %d\n' % (n, n) for n in range(1000))
    async with AsyncExitStack() as stack:
        urls = {}
        for copy in range(4):
            for name, (behaviour, _) in HOSTILE.items():
                urls[f"{name}-{copy}"] = await stack.enter_async_context(serving(behaviour))
        urls["plain"] = await stack.enter_async_context(serving(answer(good)))
        urls["zipped"] = await stack.enter_async_context(serving(zipped(good)))
        aggregate = Aggregate(OwnMetrics([]), Registry(urls), LIMITS)
        began = time.monotonic()
        page = (await aggregate.exposition()).body
        took = time.monotonic() - began
    found = series(page)
    for name in ("plain", "zipped"):
        assert found["leitstand_module_up", (("module", name),)] == 1
        values = [
            found[f"leitstand_module_{name}_good_value", (("n", str(n)),)] for n in range(1000)
        ]
        assert values == list(range(1000))
        assert found["leitstand_module_scrape_samples", (("module", name),)] == 1000
    for name, (_, failure) in HOSTILE.items():
        module = ("module", f"{name}-3")
        assert found["leitstand_module_up", (module,)] == 0, name
        counted = found.get(
            ("leitstand_module_scrape_failures_total", (module, ("reason", failure)))
        )
        assert counted == 1, name
        duration = found["leitstand_module_scrape_duration_seconds", (module,)]
        if failure is Failure.TIMEOUT:
            assert 1.9 < duration < 3.5, name
    assert took < 4.0  # 2.5 s where nothing else works on the machine


@pytest.mark.parametrize("name", ["bomb", "endless"])
async def test_what_is_too_large_is_never_held(name: str) -> None:
    """Case 2: cut off at the limit, with memory for less than twice that."""
    limits = ScrapeLimits(30.0, 50_000, FetchLimits(8 << 20, private=True))
    async with serving(HOSTILE[name][0]) as url:
        tracemalloc.start()
        try:
            (scrape,) = await Scraper(limits).scrape_all({"web": url})
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert scrape.failure is Failure.SIZE
    assert peak < 2 * limits.fetch.body


async def test_a_page_that_we_fail_to_read_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours that one page finds takes no other away."""

    def read(body: bytes, *others: Any) -> ModulePage:
        if body == b"bad 1\n":
            raise RecursionError
        return read_page(body, *others)

    monkeypatch.setattr(scraping, "read_page", read)
    async with serving(answer(b"bad 1\n")) as bad, serving(answer(b"good 1\n")) as good:
        aggregate = Aggregate(OwnMetrics([]), Registry({"bad": bad, "good": good}), LIMITS)
        found = series((await aggregate.exposition()).body)
    assert found["leitstand_module_good_good", ()] == 1
    assert found["leitstand_module_up", (("module", "bad"),)] == 0
    reason = (("module", "bad"), ("reason", "format"))
    assert found["leitstand_module_scrape_failures_total", reason] == 1


async def test_our_own_names_and_a_modules_cannot_meet() -> None:
    """Case 4: a family of ours under another type and help is another family."""
    theirs = (
        b"# HELP leitstand_core_up Other.\n# TYPE leitstand_core_up counter\nleitstand_core_up 7\n"
    )
    async with serving(answer(theirs + b"up 3\n# TYPE up gauge\n# TYPE up counter\n")) as url:
        page = (await Aggregate(OwnMetrics([]), Registry({"web": url}), LIMITS).exposition()).body
    names = [line.split()[2] for line in page.splitlines() if line.startswith(b"# TYPE")]
    assert len(names) == len(set(names))
    found = series(page)
    assert found["leitstand_core_up", ()] == 1
    assert b"\nleitstand_module_web_leitstand_core_up 7\n" in page
    assert b"\nleitstand_module_web_up 3\n" in page
    dropped = (("module", "web"), ("reason", "type"))
    assert found["leitstand_module_scrape_dropped_total", dropped] == 1


async def test_who_asks_at_once_shares_one_scrape() -> None:
    asked = 0

    async def count(writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await answer(b"asked %d\n" % asked)(writer)

    async with serving(count) as url, serving(answer(b"b 1\n")) as other:
        registry = Registry({"web": url})
        aggregate = Aggregate(OwnMetrics([]), registry, LIMITS, lifetime=60.0)
        pages = await asyncio.gather(*(aggregate.exposition() for _ in range(20)))
        assert (asked, len({page.body for page in pages})) == (1, 1)
        assert b"leitstand_module_web_asked 1\n" in (await aggregate.look()).modules
        registry.urls["db-1"] = other
        assert b"leitstand_module_db_1_b 1\n" in (await aggregate.exposition()).body
        registry.urls.pop("web")
        assert b"_web_" not in (await aggregate.exposition()).body
        assert (await aggregate.exposition("application/openmetrics-text")).body.endswith(
            b"# EOF\n"
        )


async def test_a_registry_that_is_away_costs_nothing() -> None:
    async with serving(answer(b"a 1\n")) as url:
        registry = Registry({"web": url})
        aggregate = Aggregate(OwnMetrics([]), registry, LIMITS, "acme", 0.0)
        before = series((await aggregate.exposition()).body)
        registry.away = UnavailableError("away")
        after = series((await aggregate.exposition()).body)
    assert set(before) == set(after)
    assert ("acme_module_web_a", ()) in after
    assert after["acme_core_up", ()] == 1
    assert not any(name.startswith("leitstand") for name, _ in after)


@pytest.mark.parametrize(
    ("address", "private", "public"),
    [
        ("127.0.0.1", True, False),
        ("10.0.0.1", True, False),
        ("::1", True, False),
        ("fd00::1", True, False),
        ("8.8.8.8", True, True),
        ("2606:4700::1", True, True),
        ("::ffff:8.8.8.8", True, True),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("2002:a9fe:a9fe::", False, False),
        ("fe80::1%eth0", False, False),
        ("fd00:ec2::254", False, False),
        ("100.100.100.200", False, False),
        ("0.0.0.0", False, False),
        ("::", False, False),
        ("224.0.0.1", False, False),
        ("255.255.255.255", False, False),
    ],
)
def test_where_modules_may_be(address: str, private: bool, public: bool) -> None:
    assert (is_allowed(address, private=True), is_allowed(address, private=False)) == (
        private,
        public,
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "localhost", "0x7f.1"])
async def test_addresses_are_looked_at_when_they_are_connected_to(host: str) -> None:
    """Whatever the name is, what it leads to counts."""
    async with serving(answer(b"a 1\n")) as local:
        url = local.replace("127.0.0.1", host)
        public = ScrapeLimits(2.0, 100, FetchLimits(1 << 20, private=False))
        (refused,) = await Scraper(public).scrape_all({"web": url})
        (scraped,) = await Scraper(LIMITS).scrape_all({"web": url})
    assert (refused.page, refused.failure) == (None, Failure.ADDRESS)
    assert scraped.page is not None


async def test_a_page_that_comes_in_pieces() -> None:
    body = b"".join(b'a{n="%d"} 1\n' % n for n in range(20_000))
    async with serving(targets.in_pieces(body)) as url:
        (scrape,) = await Scraper(LIMITS).scrape_all({"web": url})
    assert scrape.page is not None
    assert scrape.page.samples == 20_000


async def test_what_is_not_there() -> None:
    urls = {"closed": "http://127.0.0.1:1/", "unknown": "http://no-such-host.invalid/"}
    scrapes: list[Any] = await Scraper(LIMITS).scrape_all(urls)
    assert [scrape.failure for scrape in scrapes] == [Failure.CONNECT, Failure.CONNECT]
