"""A feature flag as it is managed, and what of it a change may set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from leitstand.errors import UsageError

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,199}")

LONGEST_TENANT = 200
"""Characters of a tenant among the targets."""


class FlagKeyError(UsageError):
    """A key that cannot be."""

    code = "FLAG_KEY"


class FlagRolloutError(UsageError):
    """A rollout that is no percentage."""

    code = "FLAG_ROLLOUT"


class FlagTargetError(UsageError):
    """A target that cannot be a tenant."""

    code = "FLAG_TARGET"


@dataclass(frozen=True)
class Flag:
    """A flag; for whom it is on is decided by ``rollout``."""

    key: str
    enabled: bool = False
    rollout_percentage: int = 0
    target_tenants: frozenset[str] = frozenset()

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``flags``, or the flag's JSON shape."""
        targets = frozenset(row["target_tenants"])
        return cls(row["key"], row["enabled"], row["rollout_percentage"], targets)

    def as_dict(self) -> dict[str, Any]:
        """The flag's JSON shape."""
        return {
            "key": self.key,
            "enabled": self.enabled,
            "rollout_percentage": self.rollout_percentage,
            "target_tenants": sorted(self.target_tenants),
        }


@dataclass(frozen=True)
class FlagVersion:
    """A flag as it was, or is, from a moment on; versions grow with every change of any flag."""

    flag: Flag
    version: int
    deleted: bool
    changed_at: datetime
    changed_by: str

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``flags`` or ``flag_history``."""
        return cls(
            Flag.from_row(row), row["version"], row["deleted"], row["changed_at"], row["changed_by"]
        )

    def as_dict(self) -> dict[str, Any]:
        """The flag's JSON shape, with its version."""
        return {
            **self.flag.as_dict(),
            "version": self.version,
            "deleted": self.deleted,
            "changed_at": self.changed_at,
            "changed_by": self.changed_by,
        }


@dataclass(frozen=True)
class FlagChange:
    """What is to become of a flag; None leaves it as it is, or as a new flag is (off).

    ``added`` and ``removed`` are targets that join those there are, and that leave them.
    """

    enabled: bool | None = None
    rollout_percentage: int | None = None
    target_tenants: frozenset[str] | None = None
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def check(self) -> None:
        """Raise FlagRolloutError or FlagTargetError for what cannot be."""
        if self.rollout_percentage is not None and not 0 <= self.rollout_percentage <= 100:
            raise FlagRolloutError(f"a rollout is 0 to 100 per cent, not {self.rollout_percentage}")
        for tenant in (self.target_tenants or frozenset()) | self.added | self.removed:
            if not 0 < len(tenant) <= LONGEST_TENANT or "\0" in tenant:
                raise FlagTargetError(f"{tenant[:LONGEST_TENANT]!r} cannot be a tenant")


def check_key(key: str) -> None:
    """Raise FlagKeyError for what cannot be a key; without ``|`` no two are hashed alike."""
    if not _KEY.fullmatch(key):
        raise FlagKeyError(
            f"{key[:200]!r} cannot be the key of a flag",
            remedy="Use letters (a-z), digits and : . _ -, at most 200, a letter or digit first.",
        )
