"""Writes what is in the database as a file that applies cleanly."""

import json
from collections.abc import Collection, Mapping

import tomli_w
from pydantic import BaseModel

from leitstand.jobs.apply_plan import Inventory
from leitstand.jobs.job_file import Thing

HEADER = """\
# Written by `leitstand export`; `leitstand apply` reads it. Fields that are not here have their
# defaults. It may hold secrets: parameters stand here as they are stored.
"""


def to_toml(stored: Inventory, leave_out: Collection[tuple[Thing, str]] = ()) -> str:
    """All things but those in ``leave_out``, ordered by name."""
    entries = [
        as_toml(thing, kept.spec)
        for thing in Thing
        for name, kept in sorted(stored.get(thing, {}).items())
        if (thing, name) not in leave_out
    ]
    return "\n".join((HEADER, *entries))


def as_toml(thing: Thing, spec: BaseModel) -> str:
    """A thing as one would write it: only the fields that differ from their defaults."""
    fields = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if has_null(fields.get("params", {})):
        fields["params"] = json.dumps(fields["params"], ensure_ascii=False)
    tables = {name: value for name, value in fields.items() if isinstance(value, Mapping)}
    plain = {name: value for name, value in fields.items() if name not in tables}
    # Tables come last, or what follows them would belong to them.
    below = [tomli_w.dumps({thing.value: {name: table}}) for name, table in tables.items()]
    return f"[[{thing}]]\n" + "\n".join((tomli_w.dumps(plain), *below))


def has_null(value: object) -> bool:
    """Whether a null is anywhere in a value: TOML has none."""
    if isinstance(value, Mapping):
        return any(has_null(inner) for inner in value.values())
    if isinstance(value, list):
        return any(has_null(inner) for inner in value)
    return value is None
