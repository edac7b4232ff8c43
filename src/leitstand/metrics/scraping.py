"""Scrapes modules, all at once, and keeps count of what went wrong with each."""

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leitstand.metrics.fetching import Failure, FetchError, FetchLimits, fetch
from leitstand.metrics.module_page import Dropped, ModulePage, PageMemory, read_page

log = structlog.get_logger(__name__)

# One page at a time, beside the event loop: reading must not cost those that are still to answer
# their time.
_reader = ThreadPoolExecutor(1, "read-metrics")


@dataclass(frozen=True)
class ScrapeLimits:
    """What a module may cost: seconds altogether, samples, and what its fetch may."""

    timeout: float
    samples: int
    fetch: FetchLimits


@dataclass(frozen=True)
class Scrape:
    """How it went: a page, or why there is none."""

    module: str
    duration: float
    page: ModulePage | None
    failure: Failure | None = None


class Scraper:
    """Scrapes; its counters are since the start of the process."""

    def __init__(self, limits: ScrapeLimits) -> None:
        self._limits = limits
        self._trust = ssl.create_default_context()
        self._memories: dict[str, PageMemory] = {}
        self._failures: Counter[tuple[str, Failure]] = Counter()
        self._dropped: Counter[tuple[str, Dropped]] = Counter()

    async def scrape_all(self, sources: Mapping[str, str]) -> list[Scrape]:
        """One scrape for each module, by name; takes no longer than the slowest is allowed to.

        One call at a time.
        """
        self._memories = {m: memory for m, memory in self._memories.items() if m in sources}
        return await asyncio.gather(*(self._scrape(m, url) for m, url in sorted(sources.items())))

    async def _scrape(self, module: str, url: str) -> Scrape:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._limits.timeout):
                body = await fetch(self._trust, url, self._limits.fetch)
            duration = time.perf_counter() - began
            page = await self._read(module, body)
        except (TimeoutError, FetchError) as error:
            failure = error.failure if isinstance(error, FetchError) else Failure.TIMEOUT
            log.info("module not scraped", module=module, reason=failure.value)
        except Exception:  # one module's page may not take all others away
            failure = Failure.FORMAT
            log.exception("a module's page cannot be read", module=module)
        else:
            self._dropped.update({(module, reason): n for reason, n in page.dropped.items()})
            return Scrape(module, duration, page)
        self._failures[module, failure] += 1
        return Scrape(module, time.perf_counter() - began, None, failure)

    async def _read(self, module: str, body: bytes) -> ModulePage:
        memory = self._memories.setdefault(module, PageMemory())
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_reader, read_page, body, self._limits.samples, memory)

    def families(self, scrapes: Sequence[Scrape]) -> list[Metric]:
        """What there is to say about the scrapes, for alerts on modules that are away."""
        return [*_gauges(scrapes), *self._counters({scrape.module for scrape in scrapes})]

    def _counters(self, modules: set[str]) -> Iterator[Metric]:
        failures = CounterMetricFamily(
            "leitstand_module_scrape_failures",
            "Scrapes of modules that failed",
            labels=["module", "reason"],
        )
        dropped = CounterMetricFamily(
            "leitstand_module_scrape_dropped",
            "Lines of modules that were left out",
            labels=["module", "reason"],
        )
        for family, counts in ((failures, self._failures), (dropped, self._dropped)):
            for (module, reason), count in sorted(counts.items()):
                if module in modules:
                    family.add_metric([module, reason], count)
            yield family


def _gauges(scrapes: Sequence[Scrape]) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "leitstand_module_up", "Whether the module could be scraped", labels=["module"]
    )
    duration = GaugeMetricFamily(
        "leitstand_module_scrape_duration_seconds", "What that took", labels=["module"]
    )
    samples = GaugeMetricFamily(
        "leitstand_module_scrape_samples", "Samples that it shows", labels=["module"]
    )
    for scrape in scrapes:
        up.add_metric([scrape.module], 0 if scrape.page is None else 1)
        duration.add_metric([scrape.module], scrape.duration)
        samples.add_metric([scrape.module], scrape.page.samples if scrape.page else 0)
    yield from (up, duration, samples)
