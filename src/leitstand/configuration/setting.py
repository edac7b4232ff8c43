"""A configuration value: under which key and scope it stands, which version it is, who set it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from leitstand.errors import ConflictError, NotFoundError, UsageError

GLOBAL = "global"
"""The scope of what holds for every tenant that has no value of its own."""

LARGEST = 1 << 16
"""Bytes that a value may have, written as JSON."""

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._/-]{0,199}")
_TAG = re.compile(r"(\d{1,18})(?:-([0-9a-f]{16}))?", re.ASCII)
_SCOPE = re.compile(r"[a-z][a-z0-9_]{0,62}")


class SettingKeyError(UsageError):
    """A key that cannot be."""

    code = "SETTING_KEY"


class SettingScopeError(UsageError):
    """A scope that is neither ``global`` nor can be a tenant's slug."""

    code = "SETTING_SCOPE"


class SettingValueError(UsageError):
    """A value that cannot be kept as it is."""

    code = "SETTING_VALUE"


class UnknownSettingError(NotFoundError):
    """Nothing was ever set under this key, in the scopes that count."""

    code = "SETTING_UNKNOWN"


class VersionConflictError(ConflictError):
    """The value is not, or no longer, in the version that the caller knows."""

    code = "SETTING_VERSION"


@dataclass(frozen=True)
class Expected:
    """The version that a write is meant to replace; 0: there is none yet.

    ``content`` is its fingerprint, None for any: a restored database repeats versions.
    """

    version: int
    content: str | None = None

    @classmethod
    def from_tag(cls, tag: str) -> Self:
        """From ``Setting.tag``, or a version alone; raises UsageError."""
        match = _TAG.fullmatch(tag)
        if match is None:
            raise UsageError(f"{tag[:100]!r} is not the version of a setting")
        return cls(int(match[1]), match[2])


@dataclass(frozen=True)
class Setting:
    """One version of a value."""

    key: str
    scope: str
    value: Any
    version: int
    fingerprint: str
    changed_at: datetime
    changed_by: str

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``settings`` or ``setting_history``."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    @property
    def tag(self) -> str:
        """Version and content in one word, for ``ETag``."""
        return f"{self.version}-{self.fingerprint}"

    def as_dict(self) -> dict[str, Any]:
        """The setting's JSON shape."""
        shown = ("key", "scope", "value", "version", "changed_at", "changed_by")
        return {name: getattr(self, name) for name in shown}


def check_place(key: str, scope: str) -> None:
    """Raise SettingKeyError or SettingScopeError for where no value can stand."""
    if not _KEY.fullmatch(key):
        raise SettingKeyError(
            f"{key[:200]!r} cannot be the key of a setting",
            remedy="Use letters (a-z), digits and : . _ / -, at most 200, a letter or digit first.",
        )
    if not _SCOPE.fullmatch(scope):
        raise SettingScopeError(
            f"{scope[:200]!r} is no scope", remedy=f"Give {GLOBAL!r} or the slug of a tenant."
        )


def written(value: object) -> str:
    """The value as the JSON that is kept; raises SettingValueError for what JSON does not have."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingValueError(f"the value cannot be written as JSON: {error}") from None
    if "\\u0000" in text:
        raise SettingValueError("the value holds a NUL character, which no database keeps")
    if size > LARGEST:
        raise SettingValueError(f"the value has {size} bytes as JSON, at most {LARGEST} are kept")
    return text


def fingerprint(text: str) -> str:
    """What tells two contents apart; ``text`` as from ``written``."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
