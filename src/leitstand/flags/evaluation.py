"""What a flag is for a tenant, and why."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """The words are OpenFeature's where it has one."""

    STATIC = "STATIC"
    """On for all."""
    TARGETING_MATCH = "TARGETING_MATCH"
    """The tenant is among the targets."""
    SPLIT = "SPLIT"
    """The rollout decided."""
    DEFAULT = "DEFAULT"
    """Off, as flags are where nothing puts them on."""
    STALE = "STALE"
    """As last known; the database does not answer."""
    UNKNOWN = "FLAG_NOT_FOUND"
    """There is no such flag."""
    ERROR = "ERROR"
    """The database does not answer, and nothing was known before."""


@dataclass(frozen=True)
class Evaluation:
    """The answer for one flag and one tenant."""

    key: str
    tenant: str | None
    value: bool
    reason: Reason
    stale: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Its JSON shape."""
        return {
            "key": self.key,
            "tenant": self.tenant,
            "value": self.value,
            "reason": self.reason.value,
            "stale": self.stale,
        }
