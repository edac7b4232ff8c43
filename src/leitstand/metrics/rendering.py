"""Writes pages of metrics, our own families and those of modules, in the format asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from leitstand.metrics.module_page import Heading, ModulePage

OURS = "leitstand"
"""What the names of all our metrics begin with, unless ``metrics.prefix`` says otherwise."""

END = b"# EOF\n"


@dataclass(frozen=True)
class Exposition:
    """A page, and what it is."""

    body: bytes
    media_type: str


class _Collected(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def wants_openmetrics(accept: str) -> bool:
    """Whether the ``Accept`` header names OpenMetrics; the text format is for all others."""
    wanted = (each.partition(";") for each in accept.lower().split(","))
    return any(
        kind.strip() == "application/openmetrics-text" and "q=0" not in rest.replace("q=0.", "")
        for kind, _, rest in wanted
    )


def render(
    families: Iterable[Metric], modules: Sequence[tuple[str, ModulePage]] = (), accept: str = ""
) -> Exposition:
    """All families as one page; ``modules`` are pages with what their names are to begin with."""
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    if wants_openmetrics(accept):
        own: bytes = generate_openmetrics(registry).removesuffix(END)  # type: ignore[no-untyped-call]
        parts = [_openmetrics(prefix.encode(), page) for prefix, page in modules]
        return Exposition(b"".join([own, *parts, END]), OPENMETRICS)
    parts = [text_of(prefix, page) for prefix, page in modules]
    return Exposition(b"".join([generate_latest(registry), *parts]), CONTENT_TYPE_LATEST)


def renamed(families: Iterable[Metric], prefix: str) -> list[Metric]:
    """The families with ``prefix`` in the place of ``leitstand``."""
    if prefix == OURS:
        return list(families)
    return [
        _renamed(each, prefix) if each.name.startswith(f"{OURS}_") else each for each in families
    ]


def text_of(prefix: str, page: ModulePage) -> bytes:
    """The module's families in the text format."""
    beginning = prefix.encode()
    return b"".join(_family(beginning, each.heading, each.lines) for each in page.families)


def _openmetrics(prefix: bytes, page: ModulePage) -> bytes:
    names = {family.heading.name for family in page.families}
    return b"".join(
        _family(
            prefix,
            _openmetrics_heading(family.heading, names),
            [_in_seconds(line) for line in family.lines] if page.stamped else family.lines,
        )
        for family in page.families
    )


def _openmetrics_heading(heading: Heading, names: set[bytes]) -> Heading:
    """A counter has its name's ``_total`` in samples only; one without it is of unknown type."""
    name, kind, text = heading
    base = name.removesuffix(b"_total")
    if kind == b"counter" and base != name and base not in names:
        name = base
    elif kind in (b"counter", b"untyped"):
        kind = b"unknown"
    return Heading(name, kind, text.replace(b'"', b'\\"'))


def _in_seconds(line: bytes) -> bytes:
    """A line with its time stamp in seconds, as OpenMetrics has it, if it has one."""
    head, _, stamp = line.rpartition(b" ")
    if not head or head.endswith(b"}") or b" " not in head:
        return line
    digits = stamp.rjust(4, b"0")
    return b"%b %b.%b" % (head, digits[:-3], digits[-3:])


def _family(prefix: bytes, heading: Heading, lines: Sequence[bytes]) -> bytes:
    name, kind, text = heading
    head = b"# HELP %b%b %b\n# TYPE %b%b %b\n" % (prefix, name, text, prefix, name, kind)
    return b"%b%b%b\n" % (head, prefix, (b"\n" + prefix).join(lines))


def _renamed(family: Metric, prefix: str) -> Metric:
    made = Metric(_with(family.name, prefix), family.documentation, family.type, family.unit)
    made.samples = [Sample(_with(s.name, prefix), *s[1:]) for s in family.samples]
    return made


def _with(name: str, prefix: str) -> str:
    return prefix + name.removeprefix(OURS)
