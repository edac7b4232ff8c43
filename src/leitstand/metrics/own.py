"""Collects Leitstand's own metrics; the domains hand them over through a small protocol."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric

from leitstand.errors import LeitstandError
from leitstand.metrics.rendering import Exposition, render

log = structlog.get_logger(__name__)

SOURCE_TIMEOUT = 2.0
"""Seconds that one source may take; after that its families are missing from the answer."""


class Source(Protocol):
    """A domain's metrics."""

    name: str

    async def collect(self) -> Sequence[Metric]:
        """The families as they are now."""


class OwnMetrics:
    """All sources as one page. A source that fails or hangs costs only its own families."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)

    def add(self, *sources: Source) -> None:
        """Have the families of further sources, too."""
        self._sources.extend(sources)

    async def families(self) -> list[Metric]:
        """All families; ``leitstand_core_source_up`` says which sources answered."""
        collected = await asyncio.gather(*(self._collect(source) for source in self._sources))
        up = GaugeMetricFamily("leitstand_core_up", "Whether this control server answers", 1)
        answered = GaugeMetricFamily(
            "leitstand_core_source_up", "Whether a source of metrics answered", labels=["source"]
        )
        families: list[Metric] = [up, answered]
        for source, found in zip(self._sources, collected, strict=True):
            answered.add_metric([source.name], 0 if found is None else 1)
            families.extend(found or ())
        return families

    async def exposition(self, accept: str = "") -> Exposition:
        """The families as a page, in the format that ``accept`` (the header) asks for."""
        return render(await self.families(), accept=accept)

    async def _collect(self, source: Source) -> Sequence[Metric] | None:
        try:
            async with asyncio.timeout(SOURCE_TIMEOUT):
                return await source.collect()
        except (LeitstandError, TimeoutError) as error:
            log.warning("no metrics from a source", source=source.name, error=str(error))
        except Exception:  # one domain's fault may not take all metrics away
            log.exception("a source of metrics failed", source=source.name)
        return None
