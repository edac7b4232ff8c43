"""Metrics as alerts look at them: series by name, and which metrics are there at all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.core import Metric

ALERTABLE = frozenset({"gauge", "counter", "untyped", "unknown"})
"""Types whose single values mean something; buckets and quantiles are parts of a distribution."""


class Series(NamedTuple):
    """One series and its value."""

    labels: Mapping[str, str]
    value: float


class MetricPage:
    """All metrics of one look.

    A metric that is there without any series differs from one that is not there: of the latter
    nothing is known, since its target may be down.
    """

    def __init__(self) -> None:
        self._series: dict[str, list[Series]] = {}
        self._names: set[str] = set()
        self._shared: dict[str, tuple[str, ...]] = {}
        self.rejected = 0

    def declare(self, name: str, kind: str) -> None:
        """A metric of this name is there."""
        self._names.add(name)
        if kind == "counter" and not name.endswith("_total"):
            self._names.add(f"{name}_total")

    def add(self, name: str, series: Series) -> None:
        """A series of an alertable metric, under the name of its sample."""
        self._names.add(name)
        self._series.setdefault(name, []).append(series)

    def share_out(self, beginning: str, among: Iterable[str]) -> None:
        """Of the names with this beginning, those with one of the longer ones have an owner."""
        self._shared[beginning] = tuple(among)

    def is_nobodys(self, name: str) -> bool:
        """Whether nobody is left who could show this metric: its module was deleted."""
        return any(
            name.startswith(beginning) and not name.startswith(owners)
            for beginning, owners in self._shared.items()
        )

    def include(self, other: "MetricPage") -> None:
        """Have the metrics of another page of the same moment, too."""
        self._names |= other._names
        self._shared |= other._shared
        for name, series in other._series.items():
            self._series.setdefault(name, []).extend(series)
        self.rejected += other.rejected

    def series(self, name: str) -> Sequence[Series] | None:
        """The series of a metric, a counter also by its name without ``_total``.

        None when the metric is not there.
        """
        total = f"{name}_total"
        if name in self._series or total not in self._names:
            return self._series.get(name, []) if name in self._names else None
        return self._series.get(total, [])


def page_of(families: Iterable[Metric]) -> MetricPage:
    """The page that these families are."""
    page = MetricPage()
    for family in families:
        page.declare(family.name, family.type)
        if family.type not in ALERTABLE:
            continue
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                page.add(sample.name, Series(sample.labels, float(sample.value)))
    return page
