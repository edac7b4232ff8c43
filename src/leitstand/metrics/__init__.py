"""Leitstand's own metrics, and those of modules, in the formats that Prometheus reads.

``aggregate`` is imported by its own name: it brings an HTTP client, which commands do without.
"""

from leitstand.metrics.own import OwnMetrics, Source
from leitstand.metrics.rendering import Exposition

__all__ = ["Exposition", "OwnMetrics", "Source"]
