"""Reads one line of the Prometheus text format, and writes it as every parser takes it.

Names, labels and values are never touched; only blanks and a comma at the end may go.
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import math
import re

_NAME = rb"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = rb"[a-zA-Z_][a-zA-Z0-9_]*"
_TEXT = rb'"[^"\\\n\x00]*+(?:\\["\\n][^"\\\n\x00]*+)*+"'
_SPECIAL = rb"[+-]?[Ii]nf(?:inity)?|[Nn]a[Nn]"
# Nothing so large that a parser calls it out of range; it would give up the whole page.
_NUMBER = (
    rb"[+-]?(?:(?:\d{1,200}(?:\.\d{0,200})?|\.\d{1,200})(?:[eE](?:-\d{1,3}|\+?\d{1,2}))?"
    rb"|\d(?:\.\d{0,200})?[eE]\+?(?:[12]\d\d|30[0-7]))"
)
_ANY_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"

# Prometheus gives up a page with a time stamp before 1970.
canonical = re.compile(
    rb"(%b)(\{%b=%b(?:,%b=%b)*\})? (%b|%b)( \d{1,18})?"
    % (_NAME, _LABEL, _TEXT, _LABEL, _TEXT, _NUMBER, _SPECIAL)
).fullmatch
"""Matches a line as ``normalised`` writes it: name, labels, value, time stamp with its blank."""

value_and_stamp = re.compile(rb"(?:%b|%b)( \d{1,18})?" % (_NUMBER, _SPECIAL)).fullmatch
"""Matches what follows the name and labels of such a line and the blank behind them."""

label_names = re.compile(rb"(%b)=%b" % (_LABEL, _TEXT)).findall
"""The names of the labels in a block of them."""

has_bucket = re.compile(rb'[{,]le="(?:%b|%b)"' % (_NUMBER, _SPECIAL)).search
"""Whether a block of labels has a bound that is a number, as a bucket must."""

has_quantile = re.compile(rb'[{,]quantile="(?:%b|%b)"' % (_NUMBER, _SPECIAL)).search
"""Whether a block of labels has a quantile that is a number."""

_loose = re.compile(
    rb"[ \t]*(%b)[ \t]*(?:\{((?:[^\"{}]|%b)*)\})?[ \t]*(%b|%b)(?:[ \t]+(\d{1,18}))?[ \t\r]*"
    % (_NAME, _TEXT, _ANY_NUMBER, _SPECIAL)
).fullmatch
_loose_label = re.compile(rb"[ \t]*(%b)[ \t]*=[ \t]*(%b)[ \t]*(,|\Z)" % (_LABEL, _TEXT)).match


def normalised(line: bytes) -> bytes | None:
    """The line in the form that ``canonical`` matches; None for what is no sample."""
    match = _loose(line)
    if match is None:
        return None
    name, block, value, stamp = match.groups()
    labels = _labels(block or b"")
    if labels is None or not _in_range(value):
        return None
    shown = b"{%b}" % b",".join(labels) if labels else b""
    return b"%b%b %b%b" % (name, shown, value, b" " + stamp if stamp else b"")


def distinct_labels(block: bytes) -> bool:
    """Whether no label stands there twice, and none says what the name says."""
    if block.count(b'="') == 1:
        return not block.startswith(b"{__name__=")
    names = label_names(block)
    return len(set(names)) == len(names) and b"__name__" not in names


def _labels(block: bytes) -> list[bytes] | None:
    found: list[bytes] = []
    position = 0
    while block[position:].strip():
        match = _loose_label(block, position)
        if match is None:
            return None
        found.append(b"%b=%b" % match.group(1, 2))
        position = match.end()
    return found


def _in_range(value: bytes) -> bool:
    return b"n" in value.lower() or math.isfinite(float(value))
