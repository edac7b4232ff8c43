"""A self-test of the checker as it is recorded: what was planted where, and what was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from leitstand.display import rfc3339


@dataclass(frozen=True)
class Planted:
    """One damage in one file; ``found`` is the checker's first finding, None if it saw nothing."""

    damage: str
    file: str
    found: str | None

    @property
    def sentence(self) -> str:
        """What was planted, for people."""
        return f"{self.file}: {self.damage}"


@dataclass(frozen=True)
class Selftest:
    """One self-test; ``stage`` is generation and stage, ``seed`` plants the same damages again."""

    timestamp: datetime
    stage: str
    seed: int
    planted: tuple[Planted, ...]

    @property
    def missed(self) -> tuple[Planted, ...]:
        """What the checker did not see."""
        return tuple(planted for planted in self.planted if planted.found is None)

    @property
    def success(self) -> bool:
        """Whether everything was found."""
        return not self.missed

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A self-test from a row of ``selftests``."""
        planted = tuple(Planted(**found) for found in row["planted"])
        return cls(row["finished_at"], row["stage"], row["seed"], planted)

    def as_dict(self) -> dict[str, Any]:
        """The self-test's JSON shape."""
        return {
            "timestamp": rfc3339(self.timestamp),
            "stage": self.stage,
            "seed": self.seed,
            "success": self.success,
            "planted": [dict(vars(planted)) for planted in self.planted],
        }
