"""All metrics as the settings want them: our own, and those of registered modules."""

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from leitstand.alerts import MetricPage, page_of, parse_page
from leitstand.metrics import Exposition, OwnMetrics
from leitstand.modules import ModuleLedger
from leitstand.settings import Settings

if TYPE_CHECKING:
    from leitstand.metrics.aggregate import Aggregate


class AllMetrics:
    """What ``/metrics`` shows, and what alert rules look at."""

    def __init__(self, settings: Settings, own: OwnMetrics, modules: ModuleLedger) -> None:
        self._settings = settings.metrics
        self._own = own
        self._modules = modules

    async def exposition(self, accept: str = "") -> Exposition:
        """The page, in the format that ``accept`` (the header) asks for."""
        return await self._aggregate.exposition(accept)

    async def look(self) -> MetricPage:
        """The metrics as they are now; what a source or module does not answer is not there.

        Our own are under the names that we gave them, whatever ``metrics.prefix`` says.
        """
        seen = await self._aggregate.look()
        page = page_of(seen.own)
        page.include(await asyncio.to_thread(lambda: parse_page(seen.modules.decode())))
        if seen.beginnings is not None:
            page.share_out(seen.common, seen.beginnings)
        return page

    @cached_property
    def _aggregate(self) -> "Aggregate":
        # They bring an HTTP client, which takes 0.2 s to import; few commands look at metrics.
        from leitstand.metrics.aggregate import Aggregate  # noqa: PLC0415
        from leitstand.metrics.fetching import FetchLimits  # noqa: PLC0415
        from leitstand.metrics.scraping import ScrapeLimits  # noqa: PLC0415

        settings = self._settings
        fetch = FetchLimits(settings.body_limit, settings.private_networks)
        limits = ScrapeLimits(settings.timeout, settings.sample_limit, fetch)
        return Aggregate(self._own, self._sources, limits, settings.prefix, settings.cache)

    async def _sources(self) -> Mapping[str, str]:
        modules = await self._modules.list_all()
        return {module.name: module.metrics_url for module in modules if module.metrics_url}
