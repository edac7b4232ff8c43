"""Puts what is wrong with settings into sentences: where, what, and what would be right."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from leitstand.errors import LeitstandError
from leitstand.masking import mask_value
from leitstand.settings.keys import (
    PREFIX,
    KeyPath,
    dotted,
    find_field,
    is_list,
    is_secret,
    leaves,
    nearest_key,
    sibling_keys,
    table_model,
    value_at,
)
from leitstand.settings.layer import Layer
from leitstand.settings.sections import SecretUrl, Section

LONGEST_SHOWN = 60
"""Characters of a wrong value that an error shows."""


UNFINISHED = (
    " There may be more to mend: cron expressions, URLs and what several settings must agree on "
    "are looked at once each value can be read."
)


class SettingsError(LeitstandError):
    """The configuration is wrong; ``problems`` holds one sentence for each thing to mend.

    ``unfinished``: values could not be read, so that others could not be judged beside them.
    """

    code = "SETTINGS"

    def __init__(self, problems: tuple[str, ...], *, unfinished: bool = False) -> None:
        several = len(problems) > 1
        super().__init__(
            f"the configuration has {len(problems)} errors" if several else problems[0],
            detail="\n".join(problems) if several else None,
            remedy="Mend it, then `leitstand config check` shows what is in effect."
            + (UNFINISHED if unfinished else ""),
        )
        self.problems = problems


def describe(error: ValidationError, layer: Layer, model: type[Section]) -> list[str]:
    """One sentence for each violation; no secret is ever among the values shown."""
    found = error.errors(include_url=False, include_input=False)
    return [_sentence(violation, layer, model) for violation in found]


def _sentence(violation: ErrorDetails, layer: Layer, model: type[Section]) -> str:
    path: KeyPath = violation["loc"]
    if violation["type"] == "extra_forbidden":
        return f"{_where(path, layer)}{_unknown(path, model)}"
    field = find_field(model, path)
    if violation["type"] == "missing":
        return f"{_where(path, layer)}{dotted(path)} is missing"
    if violation["type"] == "value_error" and field is not None and table_model(field):
        return _about_table(violation, path, layer, model)
    return _wrong_value(violation, path, field, layer)


def _where(path: KeyPath, layer: Layer) -> str:
    origin = layer.origin(path)
    return f"{origin}: " if origin else ""


def _unknown(path: KeyPath, model: type[Section]) -> str:
    similar = nearest_key(model, path)
    if similar:
        return f"unknown key {dotted(path)}; did you mean {similar}?"
    return f"unknown key {dotted(path)}; known here: {', '.join(sibling_keys(model, path))}"


def _about_table(violation: ErrorDetails, path: KeyPath, layer: Layer, model: type[Section]) -> str:
    """A rule between several keys: the places of those that the rule's sentence names."""
    sentence = _reason(violation)
    named = (leaf for leaf, _ in leaves(model) if dotted(leaf) in sentence)
    places = [layer.origin(leaf) for leaf in named if value_at(layer.values, leaf) is not None]
    places = places or [layer.origin(path)]
    where = " and ".join(dict.fromkeys(place for place in places if place))
    return f"{where}: {sentence}" if where else sentence


def _wrong_value(
    violation: ErrorDetails, path: KeyPath, field: FieldInfo | None, layer: Layer
) -> str:
    origin = layer.origin(path) or ""
    shown = _shown(value_at(layer.values, path), path, field)
    sentence = f"{_where(path, layer)}{dotted(path)}{shown}: expected {_expected(path, field)}"
    if violation["type"] in _CONSTRAINTS or violation["type"] == "value_error":
        sentence += f" ({_reason(violation)})"
    example = _example(path, field, in_environment=origin.startswith(PREFIX))
    return sentence + (f", for example {example}" if example else "")


_CONSTRAINTS = {
    *("greater_than", "greater_than_equal", "less_than", "less_than_equal"),
    *("string_too_short", "finite_number"),
}


def _reason(violation: ErrorDetails) -> str:
    text = violation["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return text.removeprefix("String ")


def _shown(value: object, path: KeyPath, field: FieldInfo | None) -> str:
    if value is None or field is None or is_secret(field):
        return ""
    text = json.dumps(mask_value(str(path[-1]), value), default=str, ensure_ascii=False)
    short = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
    return f" = {short}"


_FORMS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: 'a duration ("30s", "5m", "1h30m") or a number of seconds',
    str: "text",
    Path: "a path",
}


def _expected(path: KeyPath, field: FieldInfo | None) -> str:
    annotation = field.annotation if field else None
    if field is None or table_model(field) or isinstance(path[-1], int):
        return "a table"
    if is_list(field):
        return "a list of texts" if get_args(annotation)[:1] == (str,) else "a list of tables"
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in get_args(annotation))
    if is_secret(field):
        return "text"
    return _FORMS.get(annotation, "another value")


def _example(path: KeyPath, field: FieldInfo | None, *, in_environment: bool) -> str:
    if field is None or isinstance(path[-1], int) or table_model(field) or is_list(field):
        return ""
    value = _example_value(field)
    if value == "":  # no example of anything
        return ""
    if in_environment:
        plain = str(value).lower() if isinstance(value, bool) else value
        return f"{PREFIX}{'__'.join(str(part).upper() for part in path)}={plain}"
    return f"{path[-1]} = {json.dumps(value)}"


def _example_value(field: FieldInfo) -> str | int | bool:
    if field.annotation is SecretUrl:
        return "postgresql://user@host/database"
    default = field.default
    if default is PydanticUndefined or isinstance(default, SecretStr):
        return "text"
    if isinstance(default, float):
        return f"{default:g}s"
    return default if isinstance(default, bool | int) else str(default)
