"""Reads lines of the Prometheus text format, and writes one as every parser takes it.

Names, labels and values are never touched; only blanks and a comma at the end may go.
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import math
import re
from functools import partial

_NAME = rb"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = rb"[a-zA-Z_][a-zA-Z0-9_]*"
_TEXT = rb'"[^"\\\n\x00]*+(?:\\["\\n][^"\\\n\x00]*+)*+"'
_SPECIAL = rb"[+-]?[Ii]nf(?:inity)?|[Nn]a[Nn]"
# Nothing so large that a parser calls it out of range; it would give up the whole page.
_NUMBER = (
    rb"[+-]?(?:(?:\d{1,200}(?:\.\d{0,200})?|\.\d{1,200})(?:[eE](?:-\d{1,3}|\+?\d{1,2}))?"
    rb"|\d(?:\.\d{0,200})?[eE]\+?(?:[12]\d\d|30[0-7]))"
)
_ANY_NUMBER = rb"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"

VALUE = b"\xff"
TEXT = b"\xfe"
"""What stands for a value and for a label's text once they were cut away: no text has them."""

# Prometheus gives up a page with a time stamp before 1970.
without_values = partial(
    re.compile(rb" (?:%b|%b)(?: \d{1,18})?$" % (_NUMBER, _SPECIAL), re.MULTILINE).sub, VALUE
)
"""The lines with ``VALUE`` for the blank, value and time stamp at the end of each."""

without_texts = partial(re.compile(_TEXT).sub, TEXT)
"""Such lines with ``TEXT`` for the text of each label."""

_shape = re.compile(
    rb"(%b)(?:\{(%b=%b(?:,%b=%b)*)\})?%b" % (_NAME, _LABEL, TEXT, _LABEL, TEXT, VALUE)
).fullmatch

has_bucket = re.compile(rb'[{,]le="(?:%b|%b)"' % (_NUMBER, _SPECIAL)).search
"""Whether a block of labels has a bound that is a number, as a bucket must."""

has_quantile = re.compile(rb'[{,]quantile="(?:%b|%b)"' % (_NUMBER, _SPECIAL)).search
"""Whether a block of labels has a quantile that is a number."""

# Possessive: nothing is given back. A line of a million digits must cost no more than its length,
# and `up1` is a name without a value, not `up` with the value 1.
_loose = re.compile(
    rb"[ \t]*+(%b+)[ \t]*+(?:\{((?:[^\"{}]|%b)*+)\})?[ \t]*+(%b|%b)(?:[ \t]++(\d{1,18}))?[ \t\r]*+"
    % (_NAME, _TEXT, _ANY_NUMBER, _SPECIAL)
).fullmatch
_loose_label = re.compile(rb"[ \t]*+(%b)[ \t]*+=[ \t]*+(%b)[ \t]*+(,|\Z)" % (_LABEL, _TEXT)).match


def name_in(shape: bytes) -> bytes | None:
    """The metric's name in a line without value and texts; None if it is no sample.

    That is one of which no label stands there twice, and none says what the name says.
    """
    match = _shape(shape)
    if match is None:
        return None
    labels = (match[2] or b"").split(b",")
    if len(set(labels)) < len(labels) or b"__name__=" + TEXT in labels:
        return None
    return match[1]


def normalised(line: bytes) -> bytes | None:
    """The line as every parser takes it; None for what is no sample."""
    match = _loose(line)
    if match is None:
        return None
    name, block, value, stamp = match.groups()
    labels = _labels(block or b"")
    if labels is None or not _in_range(value):
        return None
    shown = b"{%b}" % b",".join(labels) if labels else b""
    return b"%b%b %b%b" % (name, shown, value, b" " + stamp if stamp else b"")


def _labels(block: bytes) -> list[bytes] | None:
    found: list[bytes] = []
    position, end = 0, len(block.rstrip())
    while position < end:
        match = _loose_label(block, position)
        if match is None:
            return None
        found.append(b"%b=%b" % match.group(1, 2))
        position = match.end()
    return found


def _in_range(value: bytes) -> bool:
    return b"n" in value.lower() or math.isfinite(float(value))
