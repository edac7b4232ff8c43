"""Decides what applying a file changes: created, changed field by field, unchanged, removed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from leitstand.jobs.job_file import Thing, Written
from leitstand.masking import MASK, mask_value


class Action(StrEnum):
    """What becomes of a thing."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


@dataclass(frozen=True)
class Stored:
    """A thing as it is in the database; ``managed`` when a file was the last to write it."""

    spec: BaseModel
    managed: bool


Inventory = Mapping[Thing, Mapping[str, Stored]]
"""What is in the database, by thing and name."""

Claims = Mapping[tuple[Thing, str], str]
"""What a file may neither change nor remove, and the reason as a sentence."""


@dataclass(frozen=True)
class FieldChange:
    """One field as it was and as it will be, ready to be shown: secrets are masked."""

    field: str
    before: object
    after: object


@dataclass(frozen=True)
class Change:
    """What becomes of one thing; ``taken_over``: by hand or API until now, by the file from now.

    ``spec`` is what is to be written, None for what is removed.
    """

    thing: Thing
    name: str
    action: Action
    fields: tuple[FieldChange, ...] = ()
    taken_over: bool = False
    spec: BaseModel | None = None

    def as_dict(self) -> dict[str, Any]:
        """The change's JSON shape."""
        return {
            "thing": self.thing.value,
            "name": self.name,
            "action": self.action.value,
            "fields": [vars(field) for field in self.fields],
            "taken_over": self.taken_over,
        }


@dataclass(frozen=True)
class Plan:
    """All changes, in the order in which they are carried out, and what is worth a warning."""

    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()

    @property
    def differences(self) -> list[Change]:
        """The changes that change something."""
        return [change for change in self.changes if change.action is not Action.UNCHANGED]

    def count(self, action: Action) -> int:
        """How many things the action befalls."""
        return sum(change.action is action for change in self.changes)

    def as_dict(self) -> dict[str, Any]:
        """The plan's JSON shape."""
        return {
            "changes": [change.as_dict() for change in self.changes],
            "counts": {action.value: self.count(action) for action in Action},
            "warnings": list(self.warnings),
        }


def plan_changes(
    written: Written, stored: Inventory, *, prune: bool = False, claims: Claims | None = None
) -> Plan:
    """What makes the database agree with the file.

    Removed is only what a file wrote and this one no longer names, only with ``prune``, and nothing
    that somebody else claims. Groups stay, since jobs may refer to them.
    """
    changes: list[Change] = []
    for thing in Thing:
        known = stored.get(thing, {})
        wanted = written.specs.get(thing, {})
        changes += [_change(thing, name, wanted[name], known.get(name)) for name in sorted(wanted)]
        if prune and thing is not Thing.GROUP:
            gone = [name for name, kept in known.items() if kept.managed and name not in wanted]
            changes += [
                Change(thing, name, Action.REMOVED)
                for name in sorted(gone)
                if (thing, name) not in (claims or {})
            ]
    return Plan(tuple(changes), tuple(_dangling(changes, stored)))


def _change(thing: Thing, name: str, spec: BaseModel, stored: Stored | None) -> Change:
    if stored is None:
        return Change(thing, name, Action.CREATED, spec=spec)
    fields = tuple(field_changes(stored.spec, spec))
    taken_over = not stored.managed
    action = Action.CHANGED if fields or taken_over else Action.UNCHANGED
    return Change(thing, name, action, fields, taken_over, spec)


def field_changes(before: BaseModel, after: BaseModel) -> Iterator[FieldChange]:
    """Where two specs differ; tables such as ``params`` are compared key by key."""
    old, new = (
        dict(_leaves(spec.model_dump(mode="json", by_alias=True))) for spec in (before, after)
    )
    for path in dict.fromkeys((*old, *new)):
        if old.get(path) != new.get(path):
            yield FieldChange(
                ".".join(path), *(_shown(path, each.get(path)) for each in (old, new))
            )


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    else:
        yield path, value


def _shown(path: tuple[str, ...], value: object) -> object:
    """A value without its secrets; those of HTTP headers and variables are nobody's to see."""
    if value is not None and {"headers", "env"} & set(path[1:]):
        return MASK
    for name in path:
        value = mask_value(name, value)
    return value


def _dangling(changes: list[Change], stored: Inventory) -> Iterator[str]:
    """Dependencies on jobs that will not exist: such a job fails at each start."""
    depends = {
        name: tuple(getattr(kept.spec, "depends_on", ()))
        for name, kept in stored.get(Thing.JOB, {}).items()
    }
    for change in changes:
        if change.thing is Thing.JOB and change.spec is None:
            depends.pop(change.name, None)
        elif change.thing is Thing.JOB:
            depends[change.name] = tuple(getattr(change.spec, "depends_on", ()))
    for name, needed in sorted(depends.items()):
        for missing in sorted(set(needed) - set(depends)):
            yield f'job "{name}" depends on "{missing}", which does not exist'
