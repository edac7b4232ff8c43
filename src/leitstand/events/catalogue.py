"""The catalogue: every event name that something produces, with what its payload holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

OF_A_JOB, OF_A_RULE = FAMILIES = (":JOB", ":RULE")
"""End the name of an entry that stands for one event for each job, or each alert rule."""


@dataclass(frozen=True)
class CatalogueEntry:
    """An event that can happen; ``fields`` names what its payload holds, and what that means."""

    name: str
    description: str
    source: str
    fields: Mapping[str, str]

    def means(self, name: str) -> bool:
        """Whether an event of that name is of this entry."""
        for family in FAMILIES:
            if self.name.endswith(family):
                stem = self.name.removesuffix(family) + ":"
                return name.startswith(stem) and name != stem
        return name == self.name

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
