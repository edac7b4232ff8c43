"""A module as it is registered."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from leitstand.errors import UsageError

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class Module:
    """A program that works with Leitstand; active once all its flags are on."""

    name: str
    version: str
    required_flags: tuple[str, ...]
    registered_at: datetime
    metrics_url: str | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A module from a row of ``modules``."""
        flags = tuple(row["required_flags"])
        return cls(row["name"], row["version"], flags, row["registered_at"], row["metrics_url"])

    def as_dict(self) -> dict[str, Any]:
        """The module's JSON shape."""
        return {
            "name": self.name,
            "version": self.version,
            "required_flags": list(self.required_flags),
            "registered_at": self.registered_at,
            "metrics_url": self.metrics_url,
        }


class ModuleNameError(UsageError):
    """A module without a name, or with one that could not stand in metrics and job fields."""

    code = "MODULE_NAME"


class ModuleVersionError(UsageError):
    """A module without a version."""

    code = "MODULE_VERSION"


def check_module(name: str, version: str) -> None:
    """Raise ModuleNameError or ModuleVersionError for what cannot be registered."""
    if not NAME.fullmatch(name):
        raise ModuleNameError(
            f"{name!r} cannot be the name of a module",
            remedy="Use small letters, digits and '-', a letter first, at most 63 characters.",
        )
    if not version.strip():
        raise ModuleVersionError("a module needs a version", remedy="For example 1.0.")
