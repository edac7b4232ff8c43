"""Reads durations as people write them: ``10s``, ``5m``, ``1h30m``, or a number of seconds."""

import re

from leitstand.errors import UsageError

UNITS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
"""Seconds per unit, from the greatest to the smallest; a duration names them in this order."""

_AMOUNT = r"(\d+(?:\.\d+)?)"
_UNITS_IN_ORDER = re.compile("".join(rf"(?:{_AMOUNT}\s*{unit}(?![a-z])\s*)?" for unit in UNITS))
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")


class DurationError(UsageError):
    """A text that is no duration."""

    code = "INVALID_DURATION"


def parse_duration(text: str) -> float:
    """The seconds that ``text`` stands for; only a bare number may be negative.

    Raises DurationError for anything else, also for units that are repeated or out of order.
    """
    stripped = text.strip().lower()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    match = _UNITS_IN_ORDER.fullmatch(stripped)
    if not stripped or match is None:
        raise DurationError(
            f"{text!r} is not a duration",
            remedy='Write it as "10s", "5m", "1h30m", or as a number of seconds.',
        )
    amounts = zip(match.groups(), UNITS.values(), strict=True)
    return sum(float(amount) * seconds for amount, seconds in amounts if amount is not None)


def format_duration(seconds: float) -> str:
    """``seconds`` as ``parse_duration`` reads them, in the two greatest units that they fill."""
    left = round(abs(seconds) * 1000)
    parts: list[str] = []
    for unit, size in UNITS.items():
        amount, rest = divmod(left, round(size * 1000))
        if amount and len(parts) < 2:
            parts.append(f"{amount}{unit}")
            left = rest
    return ("-" if seconds < 0 else "") + ("".join(parts) or "0s")
