"""A group: a name that jobs share to limit how many of their runs work at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from leitstand.jobs.thing_name import ThingName


class GroupSpec(BaseModel):
    """A group as people write it: a ``[[group]]`` table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ThingName
    limit: int = Field(ge=1, le=10_000)


@dataclass(frozen=True)
class Group:
    """A group as it is stored, and how many runs of it there are now, over all servers."""

    name: str
    limit: int
    running: int
    waiting: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A group from a row of ``list_groups``."""
        return cls(row["name"], row["max_running"], row["running"], row["waiting"])

    @property
    def is_full(self) -> bool:
        """Whether none of its runs may start before another has ended."""
        return self.running >= self.limit

    def __str__(self) -> str:
        """``backup-store (2 of 2 at work)``."""
        return f"{self.name} ({self.running} of {self.limit} at work)"

    @property
    def spec(self) -> GroupSpec:
        """The group as one would write it."""
        return GroupSpec(name=self.name, limit=self.limit)

    def as_dict(self) -> dict[str, Any]:
        """The group's JSON shape."""
        return {
            "name": self.name,
            "limit": self.limit,
            "running": self.running,
            "waiting": self.waiting,
        }
