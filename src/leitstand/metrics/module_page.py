"""Reads what a module shows: families in order, each once; what cannot be is left out and counted.

Done on bytes. A parser that makes numbers of everything would be ten times slower, and would alter
what passes through it. Even a look at each line is too slow for a hundred thousand of them: values
and texts are cut out of the whole page, and of what is left many lines are the same.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from leitstand.metrics.sample_line import (
    VALUE,
    has_bucket,
    has_quantile,
    name_in,
    normalised,
    without_texts,
    without_values,
)

KINDS = frozenset((b"counter", b"gauge", b"histogram", b"summary", b"untyped"))

_metadata = re.compile(rb"#[ \t]+(HELP|TYPE)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*([^\r\n]*)").match
_well_escaped = re.compile(rb"(?:[^\\]++|\\[\\n])*+").fullmatch


class Dropped(StrEnum):
    """Why a line of a module was left out."""

    MALFORMED = "malformed"
    DUPLICATE = "duplicate"
    TYPE = "type"
    """A second and different type of one family."""
    QUOTA = "quota"


class Heading(NamedTuple):
    """What is said about a metric before its samples."""

    name: bytes
    kind: bytes
    help: bytes


@dataclass(frozen=True, slots=True)
class Family:
    """Samples of one metric, as lines without its new name's beginning."""

    heading: Heading
    lines: list[bytes]


@dataclass(frozen=True, slots=True)
class ModulePage:
    """All of a module's families, how many samples they have, and what was left out.

    Only if it is ``stamped`` a sample may have a time stamp.
    """

    families: list[Family]
    samples: int
    dropped: Counter[Dropped]
    stamped: bool


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which lines of a page are samples, in the order in which their families are shown."""

    places: dict[Heading, list[slice]]
    dropped: Counter[Dropped]

    def page(self, lines: list[bytes], *, stamped: bool) -> ModulePage:
        """The page, from its lines."""
        families = [
            Family(heading, list(chain.from_iterable(lines[run] for run in runs)))
            for heading, runs in self.places.items()
        ]
        samples = sum(len(family.lines) for family in families)
        return ModulePage(families, samples, Counter(self.dropped), stamped)


class PageMemory:
    """How a module's page was laid out, for the next one that differs from it in values alone.

    It is for one reading at a time.
    """

    def __init__(self) -> None:
        self._frame: tuple[bytes, list[bytes]] | None = None
        self._layout: _Layout | None = None

    def recall(self, frame: tuple[bytes, list[bytes]]) -> _Layout | None:
        """The layout of a page with these lines, cut off before their values, and comments."""
        return self._layout if frame == self._frame else None

    def keep(self, frame: tuple[bytes, list[bytes]], layout: _Layout | None) -> None:
        """Remember the layout instead of the one before."""
        self._frame, self._layout = frame, layout


def read_page(body: bytes, most: int, memory: PageMemory | None = None) -> ModulePage:
    """The page that ``body`` is; of more than ``most`` lines of samples the rest is left out."""
    text, cut = _within(_readable(body), most)
    heads, comments = without_values(text), _comments(text)
    lines = text.split(b"\n")
    stamped = text.count(b" ") - heads.count(b" ") > heads.count(VALUE)
    memory = memory or PageMemory()
    layout = memory.recall((heads, comments))
    if layout is None:
        reading = _Reading(lines, heads, comments)
        layout = reading.layout()
        memory.keep((heads, comments), layout if reading.lasting else None)
    page = layout.page(lines, stamped=stamped)
    if cut:
        page.dropped[Dropped.QUOTA] += 1
    return page


def _readable(body: bytes) -> bytes:
    """The page as text, its lines ending as they should; one that is no text cannot be read."""
    if b"\r\n" in body:
        body = body.replace(b"\r\n", b"\n")
    if _is_text(body):
        return body
    return b"\n".join(_replaced(line) for line in body.split(b"\n"))


def _replaced(line: bytes) -> bytes:
    if line.startswith(b"#"):
        return line.decode("utf-8", "replace").encode()
    return line if _is_text(line) else b"?"


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _within(text: bytes, most: int) -> tuple[bytes, bool]:
    """The text up to ``most`` lines that may be samples, and whether there was more of it."""
    if text.count(b"\n") <= most:
        return text, False
    lines, left = text.split(b"\n"), most
    for number, line in enumerate(lines):
        if line and not line.startswith(b"#"):
            if not left:
                return b"\n".join(lines[:number]), True
            left -= 1
    return text, False


def _comments(text: bytes) -> list[bytes]:
    pieces = (b"\n" + text).split(b"\n#")[1:]
    return [b"#" + piece.partition(b"\n")[0] for piece in pieces]


Check = Callable[[bytes], object]


class _Kind(NamedTuple):
    """What is known of lines that differ in values and texts alone."""

    heading: Heading
    check: Check | None
    """What their labels must pass."""


class _Reading:
    """Finds the layout of a page, of which nothing is known yet."""

    def __init__(self, lines: list[bytes], heads: bytes, comments: list[bytes]) -> None:
        self.lasting = True
        """Whether the layout is the same for other values."""
        self._lines = lines
        self._heads = heads.split(b"\n")
        self._shapes = without_texts(heads).split(b"\n")
        self._dropped: Counter[Dropped] = Counter()
        self._metadata = _Metadata(comments, self._dropped)
        self._kinds: dict[bytes, _Kind | None] = {}
        self._runs: dict[Heading, list[slice]] = {}
        self._first: dict[bytes, int] = {}
        """Where each series was seen first."""

    def layout(self) -> _Layout:
        """The layout; lines that have to be mended are."""
        for shape in set(self._shapes):
            self._kinds[shape] = self._metadata.kind_of(shape)
        for index, shape in enumerate(self._shapes):
            kind = self._kinds[shape] or self._mended(index)
            if kind is not None:
                self._add(index, kind)
        return _Layout(self._runs, self._dropped)

    def _add(self, index: int, kind: _Kind) -> None:
        head = self._heads[index]
        if kind.check is not None and not kind.check(head):
            self._dropped[Dropped.MALFORMED] += 1
            return
        first = self._first.setdefault(head, index)
        if first != index:
            self._read_again(first, index)
            return
        runs = self._runs.setdefault(kind.heading, [])
        if runs and runs[-1].stop == index:
            runs[-1] = slice(runs[-1].start, index + 1)
        else:
            runs.append(slice(index, index + 1))

    def _mended(self, index: int) -> _Kind | None:
        """Write a line as it should be, if that can be; its kind."""
        line = self._lines[index]
        if line.lstrip()[:1] in (b"", b"#"):
            return None
        self._lines[index] = normalised(line) or b""
        self._heads[index] = without_values(self._lines[index])
        kind = self._metadata.kind_of(without_texts(self._heads[index]))
        if kind is None:
            self._dropped[Dropped.MALFORMED] += 1
        else:
            self.lasting = False
        return kind

    def _read_again(self, first: int, again: int) -> None:
        """Of two samples of one series the newer stays; without time stamps, the first."""
        self._dropped[Dropped.DUPLICATE] += 1
        self.lasting = False
        before, stamp = self._stamp(first), self._stamp(again)
        if before is not None and stamp is not None and stamp > before:
            self._lines[first], self._heads[first] = self._lines[again], self._heads[again]

    def _stamp(self, index: int) -> int | None:
        value = self._lines[index][len(self._heads[index]) - len(VALUE) :]
        _, _, stamp = value[1:].partition(b" ")
        return int(stamp) if stamp else None


class _Metadata:
    """What the comments say."""

    def __init__(self, comments: list[bytes], dropped: Counter[Dropped]) -> None:
        self._types: dict[bytes, bytes] = {}
        self._helps: dict[bytes, bytes] = {}
        for what, name, text in _read_comments(comments):
            if what == b"HELP":
                self._helps.setdefault(name, text)
            elif self._types.setdefault(name, text.strip()) != text.strip():
                dropped[Dropped.TYPE] += 1

    def kind_of(self, shape: bytes) -> _Kind | None:
        """What a line without value and texts is; None if it is no sample."""
        name = name_in(shape)
        if name is None:
            return None
        base, check = self._base(name)
        kind = self._types.get(base, b"untyped").lower()
        text = _sound(self._helps.get(base, b"")) or b"Metric %b of a module" % base
        return _Kind(Heading(base, kind if kind in KINDS else b"untyped", text), check)

    def _base(self, name: bytes) -> tuple[bytes, Check | None]:
        """The name of the family, and what the labels must have."""
        if name in self._types:
            return name, has_quantile if self._types[name] == b"summary" else None
        for suffix, kinds in _PARTS.items():
            base = name.removesuffix(suffix)
            if base != name and self._types.get(base) in kinds:
                return base, has_bucket if suffix == b"_bucket" else None
        return name, None


_PARTS: Mapping[bytes, tuple[bytes, ...]] = {
    b"_bucket": (b"histogram",),
    b"_sum": (b"histogram", b"summary"),
    b"_count": (b"histogram", b"summary"),
}


def _read_comments(comments: list[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    for comment in comments:
        if match := _metadata(comment):
            yield match[1], match[2], match[3]


def _sound(text: bytes) -> bytes:
    """A help text that every parser takes: valid escapes, no NUL, UTF-8."""
    if not _well_escaped(text):
        text = text.replace(b"\\", b"\\\\")
    return text.replace(b"\0", b"").decode("utf-8", "replace").encode()
