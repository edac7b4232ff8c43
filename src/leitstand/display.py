"""How values look: to people on pages and in tables, and times to programs."""

from collections.abc import Mapping
from datetime import UTC, datetime


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 stage``, ``2 stages``; ``many`` is for nouns that do not just get an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def moment(value: datetime | None) -> str:
    """A time in UTC to the second; a dash for none."""
    return "–" if value is None else f"{value:%Y-%m-%d %H:%M:%S}"


def rfc3339(value: datetime) -> str:
    """``2026-03-29T01:30:00.000000Z``; a time without a zone is an error."""
    if value.tzinfo is None:
        raise ValueError(f"{value} has no time zone")
    text = value.astimezone(UTC).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"


def seconds(value: float | None) -> str:
    """A duration such as ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``, ``4 d 1 h``."""
    if value is None:
        return "–"
    if value < 10:
        return f"{value:.1f} s"
    total = round(value)
    for unit, name, below, part in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if total >= unit:
            rest = total % unit // below
            return f"{total // unit} {name}" + (f" {rest} {part}" if rest else "")
    return f"{total} s"


def age(value: datetime | None, now: datetime) -> str:
    """How long ago, as ``seconds`` writes it; a dash for never."""
    return "–" if value is None else seconds(max(0.0, (now - value).total_seconds()))


def size(value: float | None) -> str:
    """Bytes with a binary unit, three digits: ``512 B``, ``1.50 KiB``, ``23.4 GiB``."""
    if value is None:
        return "–"
    number = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            digits = 0 if unit == "B" else max(0, 3 - len(str(int(number))))
            return f"{number:.{digits}f} {unit}"
        number /= 1024
    raise AssertionError("unreachable")


def in_words(value: object) -> str:
    """A value of a JSON document as people read it."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{moment(value)} UTC"
        case Mapping():
            pairs = ((key, item) for key, item in value.items() if item not in (None, "", [], {}))
            return ", ".join(f"{key} {in_words(item)}" for key, item in pairs) or "–"
        case list() | tuple():
            return ", ".join(in_words(item) for item in value)
    return str(value)
