"""Which keys and environment variables exist, read off the section models."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from leitstand.nearest import nearest
from leitstand.settings.sections import Section

KeyPath = tuple[str | int, ...]
"""Where a value stands: names of tables and keys, positions in lists."""

PREFIX = "LEITSTAND_"

FOREIGN_VARIABLES = {
    *("LEITSTAND_CONFIG", "LEITSTAND_DEBUG"),
    # What executors hand to the programs they start, which may call `leitstand` in turn.
    *("LEITSTAND_JOB", "LEITSTAND_KIND", "LEITSTAND_RUN_ID", "LEITSTAND_FENCING_TOKEN"),
    *("LEITSTAND_ATTEMPT", "LEITSTAND_CORRELATION_ID", "LEITSTAND_SCHEDULED_AT"),
    *("LEITSTAND_TENANT", "LEITSTAND_EVENT"),
}
"""Variables with our prefix that are no settings."""

FOREIGN_PREFIX = "LEITSTAND_EVENT_"
"""Payload fields of the event that started a run."""


def is_secret(field: FieldInfo) -> bool:
    """Whether the field may also be given as ``<key>_file`` and is masked wherever it is shown."""
    return isinstance(field.annotation, type) and issubclass(field.annotation, SecretStr)


def table_model(field: FieldInfo) -> type[Section] | None:
    """The model of a field that is a table of its own, else None."""
    return _section(field.annotation)


def entry_model(field: FieldInfo) -> type[Section] | None:
    """The model of the entries of a field that is a list of tables, else None."""
    return next((model for model in map(_section, get_args(field.annotation)) if model), None)


def is_list(field: FieldInfo | None) -> bool:
    """Whether the field is a list; an environment variable gives it as JSON."""
    return field is not None and getattr(field.annotation, "__origin__", None) is tuple


def _section(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return None


def leaves(model: type[Section], above: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every setting below ``model`` that is not itself a table, in order of declaration."""
    for name, field in model.model_fields.items():
        inner = table_model(field)
        if inner is None:
            yield (*above, name), field
        else:
            yield from leaves(inner, (*above, name))


def find_field(model: type[Section], path: KeyPath) -> FieldInfo | None:
    """The field that ``path`` names; None for a key that does not exist."""
    field: FieldInfo | None = None
    current: type[Section] | None = model
    for part in path:
        if isinstance(part, int):
            current = entry_model(field) if field else None
            continue
        field = current.model_fields.get(part) if current else None
        if field is None:
            return None
        current = table_model(field)
        if current is None and is_list(field):
            current = entry_model(field)
    return field


def variables(model: type[Section]) -> dict[str, KeyPath]:
    """Every environment variable that is a setting, with the path of its key.

    Lists of tables (``[[job]]`` and the like) are entries, not settings: they have no variable.
    """
    known: dict[str, KeyPath] = {}
    for path, field in leaves(model):
        if len(path) < 2:
            continue
        name = variable_name(path)
        known[name] = path
        if is_secret(field):
            known[name + "_FILE"] = (*path[:-1], f"{path[-1]}_file")
    return known


def variable_name(path: KeyPath) -> str:
    """The environment variable of a key: ``LEITSTAND_BACKUP__POSTGRES__URL``."""
    return PREFIX + "__".join(str(part).upper() for part in path)


def is_foreign(variable: str) -> bool:
    """Whether a variable with our prefix belongs to something else than the configuration."""
    return variable in FOREIGN_VARIABLES or variable.startswith(FOREIGN_PREFIX)


def dotted(path: KeyPath) -> str:
    """``backup.postgres.url``, ``detector[0].profile``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def nearest_key(model: type[Section], path: KeyPath) -> str | None:
    """The known key that an unknown one was most likely meant to be, as a dotted name."""
    parent = path[:-1]
    siblings = [dotted((*parent, name)) for name in sibling_keys(model, path)]
    everywhere = [dotted(known) for known, _ in leaves(model)]
    same_name = [name for name in everywhere if name.rsplit(".", 1)[-1] == path[-1]]
    return nearest(dotted(path), siblings) or (same_name[0] if same_name else None)


def sibling_keys(model: type[Section], path: KeyPath) -> list[str]:
    """The keys that are known in the table where ``path`` stands."""
    holder = find_field(model, path[:-1])
    table = model if holder is None else table_model(holder) or entry_model(holder)
    names: list[str] = []
    for name, field in (table.model_fields if table else {}).items():
        names += [name, f"{name}_file"] if is_secret(field) else [name]
    return names


def value_at(values: Mapping[str, Any], path: KeyPath) -> object:
    """The value at ``path`` in nested mappings and lists; None where nothing is."""
    current: object = values
    for part in path:
        if isinstance(current, Mapping):
            current = current.get(part)
        elif isinstance(current, list | tuple) and isinstance(part, int) and part < len(current):
            current = current[part]
        else:
            return None
    return current
