"""The metrics of Leitstand and of all modules as one page, gathered once for many who ask."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog
from prometheus_client.core import Metric

from leitstand.errors import LeitstandError
from leitstand.metrics.own import OwnMetrics
from leitstand.metrics.rendering import Exposition, renamed, render, text_of, wants_openmetrics
from leitstand.metrics.scraping import Scrape, ScrapeLimits, Scraper

log = structlog.get_logger(__name__)

Sources = Callable[[], Awaitable[Mapping[str, str]]]
"""The URLs of metrics by module, as they are registered now."""

SOURCES_TIMEOUT = 0.3
"""Seconds that the question for them may take; after that those before count."""


class Look(NamedTuple):
    """All of one moment: our own families, those about modules among them, under the names that we
    gave them, and the modules' in the text format.

    All of ``modules`` begin like ``common``, each module's like one of ``beginnings``; these are
    None while nobody knows which modules there are.
    """

    own: list[Metric]
    modules: bytes
    common: str
    beginnings: list[str] | None


@dataclass(frozen=True)
class _Gathered:
    """All of one moment."""

    sources: Mapping[str, str]
    families: list[Metric]
    scrapes: list[Scrape]
    until: float
    shown: dict[bool, Exposition] = field(default_factory=dict)
    """As a page, once somebody has asked for it: in OpenMetrics or not."""


class Aggregate:
    """Scrapes for whoever asks. Who asks within ``lifetime`` seconds of another gets the same.

    A module that was registered or has gone since then is noticed nevertheless.
    """

    def __init__(
        self,
        own: OwnMetrics,
        sources: Sources,
        limits: ScrapeLimits,
        prefix: str = "leitstand",
        lifetime: float = 1.0,
    ) -> None:
        self._own = own
        self._sources = sources
        self._scraper = Scraper(limits)
        self._prefix = prefix
        self._lifetime = lifetime
        self._registered: Mapping[str, str] | None = None
        self._gathered: _Gathered | None = None
        self._gathering: asyncio.Task[_Gathered] | None = None

    async def exposition(self, accept: str = "") -> Exposition:
        """The page, in the format that ``accept`` (the header) asks for."""
        gathered, openmetrics = await self._gather(), wants_openmetrics(accept)
        if openmetrics not in gathered.shown:
            pages = [(self._beginning(s.module), s.page) for s in gathered.scrapes if s.page]
            families = renamed(gathered.families, self._prefix)
            gathered.shown[openmetrics] = render(families, pages, accept)
        return gathered.shown[openmetrics]

    async def look(self) -> Look:
        """All of one moment, for whoever does not show it."""
        gathered = await self._gather()
        texts = (text_of(self._beginning(s.module), s.page) for s in gathered.scrapes if s.page)
        known = self._registered is not None
        beginnings = [self._beginning(module) for module in gathered.sources] if known else None
        return Look(gathered.families, b"".join(texts), self._common, beginnings)

    @property
    def _common(self) -> str:
        return f"{self._prefix}_module_"

    def _beginning(self, module: str) -> str:
        return f"{self._common}{module.replace('-', '_')}_"

    async def _gather(self) -> _Gathered:
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._current())
        return await asyncio.shield(self._gathering)

    async def _current(self) -> _Gathered:
        try:
            sources = await self._registered_now()
            known = self._gathered
            if known is None or known.sources != sources or time.monotonic() > known.until:
                known = self._gathered = await self._gather_anew(sources)
            return known
        finally:
            self._gathering = None

    async def _gather_anew(self, sources: Mapping[str, str]) -> _Gathered:
        own, scrapes = await asyncio.gather(self._own.families(), self._scraper.scrape_all(sources))
        families = [*own, *self._scraper.families(scrapes)]
        return _Gathered(sources, families, scrapes, time.monotonic() + self._lifetime)

    async def _registered_now(self) -> Mapping[str, str]:
        try:
            async with asyncio.timeout(SOURCES_TIMEOUT):
                self._registered = await self._sources()
        except (LeitstandError, TimeoutError) as error:
            log.warning("modules to scrape are as last known", error=str(error))
        return self._registered or {}
