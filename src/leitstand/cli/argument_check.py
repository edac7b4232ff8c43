"""Refuses arguments that are no text: no database could hold them, no log show them."""

from collections.abc import Iterable, Iterator, Mapping

from leitstand.errors import UsageError

LONGEST = 10_000
"""Characters; longer than any name, time or reason, and short enough to repeat in an error."""


def refuse_no_text(given: Mapping[str, object]) -> None:
    """Raise UsageError for the first argument that is no text. Paths may hold any bytes."""
    for name, text in _texts(given):
        problem = _problem(text)
        if problem is not None:
            raise UsageError(f"the argument {name} {problem}: {text[:60]!a}")


def _texts(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        values: Iterable[object] = value if isinstance(value, list | tuple) else (value,)
        yield from ((name.replace("_", "-"), each) for each in values if isinstance(each, str))


def _problem(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"has {len(text)} characters, and at most {LONGEST} make sense"
    if "\0" in text:
        return "holds a NUL character"
    # How Python shows bytes of the command line that are not UTF-8.
    return "is not UTF-8 text" if any("\ud800" <= each <= "\udfff" for each in text) else None
