"""A remote agent as it is stored: one process of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self


@dataclass(frozen=True)
class AgentInfo:
    """An agent's process; ``silent_for`` is seconds, ``running`` counts its runs by kind.

    ``slots`` is how many runs of each kind it carries out at a time.
    """

    instance: str
    name: str
    host: str
    pid: int
    version: str
    kinds: tuple[str, ...]
    tags: tuple[str, ...]
    slots: int
    started_at: datetime
    heartbeat_at: datetime
    silent_for: float
    running: Mapping[str, int]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``list_agents``."""
        fields = {name: row[name] for name in cls.__dataclass_fields__}
        for name in ("kinds", "tags"):
            fields[name] = tuple(fields[name])
        return cls(**fields)

    @property
    def words(self) -> frozenset[str]:
        """What a job may ask for in ``runs_on``."""
        return frozenset((self.name, *self.tags))

    def offers(self, kind: str, runs_on: Iterable[str]) -> bool:
        """Whether it may be given such a run."""
        return kind in self.kinds and self.words.issuperset(runs_on)

    def as_dict(self) -> dict[str, Any]:
        """The agent's JSON shape."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
