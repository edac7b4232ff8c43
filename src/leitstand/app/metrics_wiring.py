"""The page of metrics as the settings want it: our own, and those of registered modules."""

from collections.abc import Mapping

from leitstand.app.control import Control
from leitstand.metrics import OwnMetrics
from leitstand.metrics.aggregate import Aggregate
from leitstand.metrics.fetching import FetchLimits
from leitstand.metrics.scraping import ScrapeLimits


def aggregate(control: Control, own: OwnMetrics) -> Aggregate:
    """The page over these metrics of our own."""
    settings = control.settings.metrics
    fetch = FetchLimits(settings.body_limit, settings.private_networks)

    async def sources() -> Mapping[str, str]:
        modules = await control.modules.list_all()
        return {module.name: module.metrics_url for module in modules if module.metrics_url}

    return Aggregate(
        own,
        sources,
        ScrapeLimits(settings.timeout, settings.sample_limit, fetch),
        settings.prefix,
        settings.cache,
    )
