"""Puts what is wrong with a table of a job file into sentences that name field and remedy."""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from typing import Any

from pydantic import BaseModel, ValidationError

from leitstand.nearest import nearest

Path = tuple[str | int, ...]
"""Where something stands: names of fields, and positions in lists."""

Problem = tuple[Path, str]
"""Where it is wrong, and a sentence that begins with the field."""


def violations(error: ValidationError, model: type[BaseModel], above: Path = ()) -> list[Problem]:
    """Each wrong field; values are not shown, since they may be secrets."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [_problem(each["type"], each["loc"], each["msg"], model, above) for each in found]


def _problem(kind: str, loc: Path, message: str, model: type[BaseModel], above: Path) -> Problem:
    path = (*above, *loc)
    if kind == "extra_forbidden":
        return path, f"unknown key {dotted(path)}{hint(str(loc[-1]), _known_at(model, loc[:-1]))}"
    if kind == "missing":
        return path, f"{dotted(path)} is missing"
    said = message.removeprefix("Value error, ")
    return path, f"{dotted(path)}: {said}" if path else said


def hint(name: str, known: Iterable[str]) -> str:
    """What was meant by ``name``, or else what is known there, to follow a sentence."""
    names = sorted(known)
    similar = nearest(name, names, 0.6)
    if similar:
        return f"; did you mean {similar}?"
    return f"; known here: {', '.join(names)}" if names else ""


def dotted(path: Path) -> str:
    """``params.argv[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _known_at(model: type[BaseModel], path: Path) -> list[str]:
    """The keys of the table at ``path``; none where its type does not say."""
    for part in path:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if not isinstance(annotation, type) or not issubclass(annotation, BaseModel):
            return []
        model = annotation
    return [field.alias or name for name, field in model.model_fields.items()]


def unstorable(value: object, path: Path = ()) -> Iterator[Problem]:
    """What of a table the database could not keep: it would come back as something else."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from unstorable(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from unstorable(inner, (*path, index))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, f"{dotted(path)}: {value} is not a number that can be stored"
    elif isinstance(value, str) and "\0" in value:
        yield path, f"{dotted(path)}: text cannot hold a NUL character"


def as_stored(value: Any) -> Any:  # noqa: ANN401 -- whatever TOML holds
    """A value of a TOML document as JSON has it: dates and times become text."""
    if isinstance(value, Mapping):
        return {key: as_stored(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_stored(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value
