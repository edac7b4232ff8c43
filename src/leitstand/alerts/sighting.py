"""Looks at a page of metrics with the eyes of the rules."""

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from leitstand.alerts.metric_page import MetricPage, Series
from leitstand.alerts.rule import AlertRule, AlertSpec, Comparison
from leitstand.alerts.transition import Sight


class Sighting(NamedTuple):
    """One series of one rule; ``value`` is None for what is absent."""

    rule: AlertRule
    fingerprint: str
    labels: Mapping[str, str]
    value: float | None
    sight: Sight


def sightings(
    rules: Sequence[AlertRule], page: MetricPage, active: Mapping[int, Collection[str]]
) -> list[Sighting]:
    """What violates a rule, and what became of the series that are active already.

    ``active`` holds the fingerprints by rule id. Series that are well and never were otherwise are
    left out: they are most. An active one that is not seen at all is not in the list.
    """
    return [seen for rule in rules for seen in _of_rule(rule, page, active.get(rule.id, ()))]


def unseen(rule: AlertRule, page: MetricPage) -> Sight:
    """What it means that a series is not among those of its metric.

    A rule about absence sees its only series always: another is from before it was changed.
    """
    name = rule.spec.metric_name
    if rule.spec.absent or page.series(name) is not None or page.is_nobodys(name):
        return Sight.MISSING
    return Sight.UNKNOWN


def _of_rule(rule: AlertRule, page: MetricPage, active: Collection[str]) -> Iterator[Sighting]:
    series = page.series(rule.spec.metric_name) or ()
    matching = [each for each in series if rule.matches(each.labels)]
    if rule.spec.absent:
        yield _absence(rule, matching)
        return
    seen: set[str] = set()
    for labels, value in matching:
        sight = look(rule.spec, value)
        if sight is not Sight.VIOLATES and not active:
            continue
        mark = fingerprint(labels)
        if mark in seen or (sight is not Sight.VIOLATES and mark not in active):
            continue
        seen.add(mark)
        yield Sighting(rule, mark, labels, value, sight)


def _absence(rule: AlertRule, matching: Sequence[Series]) -> Sighting:
    labels = rule.spec.label_filters
    sight = Sight.CLEAR if matching else Sight.VIOLATES
    return Sighting(rule, fingerprint(labels), labels, None, sight)


def look(rule: AlertSpec, value: float) -> Sight:
    """What a value means to a rule; strictly: the threshold itself is well, NaN means nothing."""
    if math.isnan(value) or rule.threshold is None:
        return Sight.UNKNOWN
    if rule.comparison is Comparison.LT:
        value, threshold = -value, -rule.threshold
        clear = None if rule.clear_threshold is None else -rule.clear_threshold
    else:
        threshold, clear = rule.threshold, rule.clear_threshold
    if value > threshold:
        return Sight.VIOLATES
    return Sight.BETWEEN if clear is not None and value > clear else Sight.CLEAR


def fingerprint(labels: Mapping[str, str]) -> str:
    """What tells label sets apart, whatever the order of the labels."""
    text = "".join(f"{len(k)}:{k}{len(v)}:{v}" for k, v in sorted(labels.items()))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
