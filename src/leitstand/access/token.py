"""An API token as it is stored and shown: never with its secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from leitstand.access.role import Role


@dataclass(frozen=True)
class ApiToken:
    """A token; it lets nobody in after ``expires_at`` or once it is revoked."""

    name: str
    role: Role
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A token from a row of ``api_tokens``; further columns are ignored."""
        fields = {name: row[name] for name in cls.__dataclass_fields__}
        return cls(**{**fields, "role": Role(row["role"])})

    def as_dict(self) -> dict[str, Any]:
        """The token's JSON shape."""
        return {**vars(self), "role": self.role.value}
