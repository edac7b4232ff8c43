"""Reads metrics in the text format of Prometheus or OpenMetrics, line by line.

A line that cannot be read is left out and counted, and costs no other. The format:
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import re

from leitstand.alerts.metric_page import ALERTABLE, MetricPage, Series

# Possessive: a line costs its length at most, and `up1` is not `up` with the value 1.
_SAMPLE = re.compile(
    r"""([a-zA-Z_:][a-zA-Z0-9_:]*+)
        [ \t]*+(?:\{((?:[^"{}]++|"(?:[^"\\]++|\\.)*+")*+)\})?
        [ \t]*+(\S++)
        (?:[ \t]++-?[0-9.]+)?
        [ \t]*(?:\#.*)?""",
    re.VERBOSE,
)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\"}

PARTS = ("_total", "_bucket", "_sum", "_count", "_created", "_info")
"""What samples of a family may add to its name."""


def parse_page(text: str) -> MetricPage:
    """The page that ``text`` is; ``rejected`` counts the lines that could not be read."""
    page, types = MetricPage(), dict[str, str]()
    # By line feeds alone: splitlines() also ends lines at characters that a label's text may hold.
    for line in text.split("\n"):
        if line.startswith("#"):
            _read_comment(line, page, types)
        elif line.strip():
            page.rejected += not _read_sample(line.strip(), page, types)
    return page


def _read_comment(line: str, page: MetricPage, types: dict[str, str]) -> None:
    words = line.split()
    if len(words) >= 4 and words[1] == "TYPE":
        types[words[2]] = words[3]
        page.declare(words[2], words[3])


def _read_sample(line: str, page: MetricPage, types: dict[str, str]) -> bool:
    match = _SAMPLE.fullmatch(line)
    if match is None:
        return False
    name, block, number = match.groups()
    labels = _read_labels(block or "")
    value = _read_number(number)
    if labels is None or value is None:
        return False
    if _type_of(name, types) in ALERTABLE:
        page.add(name, Series(labels, value))
    return True


def _type_of(name: str, types: dict[str, str]) -> str:
    """The type that a sample's name means; one of which nothing is said is untyped."""
    if name in types:
        return types[name]
    for part in PARTS:
        family = name.removesuffix(part)
        if family != name and family in types:
            return "created" if part == "_created" else types[family]
    return "untyped"


def _read_labels(block: str) -> dict[str, str] | None:
    """The labels with unescaped values; None when the block is not well formed."""
    labels: dict[str, str] = {}
    position = 0
    while position < len(block.rstrip()):
        match = _LABEL.match(block, position)
        if match is None:
            return None
        name, value = match.groups()
        labels[name] = _ESCAPE.sub(_unescaped, value) if "\\" in value else value
        position = match.end()
    return labels


def _unescaped(match: "re.Match[str]") -> str:
    return _UNESCAPED.get(match[1], match[0])


def _read_number(text: str) -> float | None:
    if "_" in text:  # a number to Python
        return None
    try:
        return float(text)
    except ValueError:
        return None
