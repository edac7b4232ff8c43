"""Leitstand's own metrics in the Prometheus text format."""

from leitstand.metrics.own import OwnMetrics, Source

__all__ = ["OwnMetrics", "Source"]
