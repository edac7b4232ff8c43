"""Reads what a module shows: families in order, each once; what cannot be is left out and counted.

Done on lines of bytes. A parser that makes numbers of everything would be ten times slower, and
would alter what passes through it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from leitstand.metrics.sample_line import (
    canonical,
    distinct_labels,
    has_bucket,
    has_quantile,
    normalised,
    value_and_stamp,
)

KINDS = frozenset((b"counter", b"gauge", b"histogram", b"summary", b"untyped"))

_metadata = re.compile(
    rb"^#[ \t]+(HELP|TYPE)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*([^\r\n]*)", re.MULTILINE
).finditer
_bad_escape = re.compile(rb"\\(?![\\n])|(?:\\\\)+\\(?![\\n])")


class Dropped(StrEnum):
    """Why a line of a module was left out."""

    MALFORMED = "malformed"
    DUPLICATE = "duplicate"
    TYPE = "type"
    """A second and different type of one family."""
    QUOTA = "quota"


@dataclass(slots=True)
class Family:
    """Samples of one metric, as lines without its new name's beginning."""

    name: bytes
    kind: bytes
    help: bytes
    lines: list[bytes] = field(default_factory=list)
    stamped: bool = False


@dataclass(slots=True)
class ModulePage:
    """All of a module's families, how many samples they have, and what was left out."""

    families: list[Family]
    samples: int
    dropped: Counter[Dropped]


Check = Callable[[bytes], object]


@dataclass(slots=True)
class _Series:
    """What is known of lines that begin alike: the metric's name, and where one was seen last."""

    name: bytes
    page: int = 0
    index: int = 0


class PageMemory:
    """What the page before has taught: whose lines begin like its lines are sound without a look.

    Modules show the same series again and again, and only values change: this is several times
    faster. It is the memory of one module, for one reading at a time.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.types: dict[bytes, bytes] = {}
        self.series: dict[bytes, _Series] = {}
        """By the beginnings of their lines, up to the value."""

    def begin(self, types: dict[bytes, bytes]) -> int:
        """The number of a new page; all is forgotten if its types are others."""
        self.pages += 1
        if types != self.types:
            self.types = types
            self.series.clear()
        return self.pages

    def shed(self, samples: int) -> None:
        """Forget series that the page did not show, before they become more than those it did."""
        if len(self.series) > 2 * samples + 1000:
            kept = {head: s for head, s in self.series.items() if s.page == self.pages}
            self.series = kept


class _Reader:
    """Where the lines of one page go."""

    def __init__(self, body: bytes, memory: PageMemory) -> None:
        self.dropped: Counter[Dropped] = Counter()
        self._types: dict[bytes, bytes] = {}
        self._helps: dict[bytes, bytes] = {}
        self._read_metadata(body)
        self._page = memory.begin(self._types)
        self._memory = memory
        self._families: dict[bytes, Family] = {}
        self._places: dict[bytes, tuple[Family, Check | None]] = {}

    def read(self, line: bytes) -> int:
        """Put a line that is no comment where it belongs, or drop it; how many samples it adds."""
        head = line[: (line.rfind(b"}") + 1 or line.find(b" ")) + 1]
        series = self._memory.series.get(head)
        if series is None:
            return self._read_unknown(line)
        value = line[len(head) :]
        if value.isdigit() and len(value) < 200:
            return self._add(series, line, None)
        match = value_and_stamp(value)
        return self._read_unknown(line) if match is None else self._add(series, line, match[1])

    def _read_unknown(self, line: bytes) -> int:
        if line.lstrip()[:1] in (b"", b"#"):
            return 0
        match = canonical(line) or canonical(normalised(line) or b"")
        if match is None:
            self.dropped[Dropped.MALFORMED] += 1
            return 0
        name, labels, stamp = match.group(1, 2, 4)
        _, check = self._places.get(name) or self._place(name)
        sound = labels is None or distinct_labels(labels)
        if not sound or (check is not None and not check(labels or b"")):
            self.dropped[Dropped.MALFORMED] += 1
            return 0
        series = self._memory.series.setdefault(match.string[: match.start(3)], _Series(name))
        return self._add(series, match.string, stamp)

    def _add(self, series: _Series, line: bytes, stamp: bytes | None) -> int:
        family, _ = self._places.get(series.name) or self._place(series.name)
        if stamp is not None:
            family.stamped = True
        if series.page == self._page:
            self._read_again(family.lines, series.index, line, stamp)
            return 0
        series.page, series.index = self._page, len(family.lines)
        family.lines.append(line)
        return 1

    def page(self) -> ModulePage:
        """What was read."""
        families = [family for family in self._families.values() if family.lines]
        samples = sum(len(family.lines) for family in families)
        self._memory.shed(samples)
        return ModulePage(families, samples, self.dropped)

    def _read_metadata(self, body: bytes) -> None:
        for match in _metadata(body):
            what, name, text = match.groups()
            if what == b"HELP":
                self._helps.setdefault(name, text)
            elif self._types.setdefault(name, text.strip()) != text.strip():
                self.dropped[Dropped.TYPE] += 1

    def _read_again(self, lines: list[bytes], index: int, line: bytes, stamp: bytes | None) -> None:
        """Of two samples of one series the newer stays; without time stamps, the first."""
        self.dropped[Dropped.DUPLICATE] += 1
        before = canonical(lines[index])
        if stamp is not None and before is not None and int(stamp) > int(before[4] or stamp):
            lines[index] = line

    def _place(self, name: bytes) -> tuple[Family, Check | None]:
        """The family of a sample, and what its labels must have."""
        base, check = self._base(name)
        if base not in self._families:
            kind = self._types.get(base, b"untyped").lower()
            text = _sound(self._helps.get(base, b"")) or b"Metric %b of a module" % base
            kind = kind if kind in KINDS else b"untyped"
            self._families[base] = Family(base, kind, text)
        self._places[name] = self._families[base], check
        return self._places[name]

    def _base(self, name: bytes) -> tuple[bytes, Check | None]:
        if name in self._types:
            return name, has_quantile if self._types[name] == b"summary" else None
        for suffix, kinds in _PARTS:
            base = name.removesuffix(suffix)
            if base != name and self._types.get(base) in kinds:
                return base, has_bucket if suffix == b"_bucket" else None
        return name, None


_PARTS = (
    (b"_bucket", (b"histogram",)),
    (b"_sum", (b"histogram", b"summary")),
    (b"_count", (b"histogram", b"summary")),
)


def read_page(body: bytes, most: int, memory: PageMemory | None = None) -> ModulePage:
    """The page that ``body`` is; of more than ``most`` samples the rest is left out."""
    reader, samples = _Reader(body, memory or PageMemory()), 0
    for line in _sample_lines(body):
        if samples >= most:
            reader.dropped[Dropped.QUOTA] += 1
            break
        samples += reader.read(line)
    return reader.page()


def _sample_lines(body: bytes) -> Iterable[bytes]:
    lines = (line for line in body.split(b"\n") if line[:1] != b"#" and line)
    if _is_text(body):
        return lines
    return (line if _is_text(line) else b"\xff" for line in lines)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sound(text: bytes) -> bytes:
    """A help text that every parser takes: valid escapes, no NUL, UTF-8."""
    if _bad_escape.search(text):
        text = text.replace(b"\\", b"\\\\")
    return text.replace(b"\0", b"").decode("utf-8", "replace").encode()
