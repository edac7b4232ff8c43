"""The catalogue: every event name that something produces, with what its payload holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FAMILY = ":JOB"
"""Ends the name of an entry that stands for one event for each job."""


@dataclass(frozen=True)
class CatalogueEntry:
    """An event that can happen; ``fields`` names what its payload holds, and what that means."""

    name: str
    description: str
    source: str
    fields: Mapping[str, str]

    def means(self, name: str) -> bool:
        """Whether an event of that name is of this entry."""
        if not self.name.endswith(FAMILY):
            return name == self.name
        stem = self.name.removesuffix(FAMILY) + ":"
        return name.startswith(stem) and name != stem

    def as_dict(self) -> dict[str, Any]:
        """The entry's JSON shape."""
        return {
            "name": self.name,
            "description": self.description,
            "source": self.source,
            "fields": dict(self.fields),
        }


class Catalogue:
    """The events that can happen in an installation."""

    def __init__(self, entries: Iterable[CatalogueEntry]) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: entry.name))

    def knows(self, name: str) -> bool:
        """Whether something produces events of that name."""
        return any(entry.means(name) for entry in self.entries)
