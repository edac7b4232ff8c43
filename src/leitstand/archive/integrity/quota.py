"""How much a scrub reads: so many objects a run, or a share or so many bytes a day."""

import math
import re
from dataclasses import dataclass
from typing import Self

from leitstand.errors import UsageError

LARGEST = 100_000
"""Objects that one run takes at most, since it holds their keys in memory."""

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?(?:/s)?", re.IGNORECASE)


class SizeError(UsageError):
    """A text that is no number of bytes, or no sample size."""

    code = "INVALID_SIZE"


def parse_size(text: str) -> int:
    """Bytes of ``500``, ``50MB`` (a thousand thousands), ``50MiB`` (1024 * 1024), ``2G``.

    A rate may have ``/s`` behind. Raises SizeError.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise SizeError(f"{text!r} is no number of bytes", remedy='Write it like "50MB" or "2GiB".')
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** _UNITS[match[2].lower()])


@dataclass(frozen=True)
class Quota:
    """Exactly one of the three is set; what goes by the day counts the last 24 hours."""

    count: int | None = None
    daily_share: float | None = None
    daily_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """From ``10``, ``5%`` or ``2GiB``; raises SizeError."""
        stripped = text.strip()
        if stripped.isdecimal():
            return cls(count=int(stripped))
        if stripped.endswith("%"):
            return cls(daily_share=_percent(stripped))
        return cls(daily_bytes=parse_size(stripped))

    @property
    def most(self) -> int:
        """How many objects a run may take, however many there are."""
        return LARGEST if self.count is None else min(self.count, LARGEST)

    def objects(self, total: int, checked_today: int) -> int:
        """How many objects this run may take, of ``total``, with so many checked in 24 hours."""
        if self.count is not None:
            wanted = self.count
        elif self.daily_share is not None:
            wanted = math.ceil(total * self.daily_share) - checked_today
        else:
            wanted = LARGEST
        return max(0, min(wanted, LARGEST))

    def takes_all(self, total: int, checked_today: int) -> bool:
        """Whether no object has to be left out, however urgent the others are."""
        return self.daily_bytes is None and self.objects(total, checked_today) >= total

    def bytes_left(self, read_today: int) -> float:
        """How many bytes this run may begin to read; infinite where bytes are no measure."""
        return math.inf if self.daily_bytes is None else self.daily_bytes - read_today


def _percent(text: str) -> float:
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise SizeError(f"{text!r} is no share", remedy='Write it like "5%".')
    return share
