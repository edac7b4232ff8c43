"""A tenant as it is registered, and what may be called one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from leitstand.errors import ConflictError, LeitstandError, NotFoundError, UsageError

RESERVED = frozenset(("global",))
"""Slugs that mean something else where a tenant's is expected."""

LONGEST_NAME = 200

_SLUG = re.compile(r"[a-z][a-z0-9_]{0,39}")


class TenantSlugError(UsageError):
    """A slug that cannot be."""

    code = "TENANT_SLUG"


class TenantNameError(UsageError):
    """A name that is empty, too long, or cannot be shown."""

    code = "TENANT_NAME"


class TenantExistsError(ConflictError):
    """The slug, or the database that belongs to it, is taken."""

    code = "TENANT_EXISTS"


class UnknownTenantError(NotFoundError):
    """No tenant has this slug."""

    code = "TENANT_UNKNOWN"


class TenantDatabaseError(LeitstandError):
    """The database server refused something that a tenant needs; the detail says what."""

    code = "TENANT_DATABASE"


class TenantStatus(StrEnum):
    """From the first moment to the last."""

    PROVISIONING = "provisioning"
    """Its database is being made, or the process that did so is gone."""
    ACTIVE = "active"
    DELETING = "deleting"
    """Its database lets nobody in, and goes as soon as its time has come."""
    FAILED_CLEANUP = "failed_cleanup"
    """It could not be made, and what was begun could not be removed; that is tried again."""


@dataclass(frozen=True)
class Tenant:
    """A row of the registry. ``reference`` says where the database is; never a password."""

    slug: str
    name: str
    database: str
    reference: str
    status: TenantStatus
    mark: UUID
    created_at: datetime
    drop_at: datetime | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of ``tenants``."""
        values = {name: row[name] for name in cls.__dataclass_fields__}
        return cls(**{**values, "status": TenantStatus(row["status"])})

    def as_dict(self) -> dict[str, Any]:
        """The tenant's JSON shape."""
        shown = ("slug", "name", "database", "status", "created_at", "drop_at")
        return {name: getattr(self, name) for name in shown}


def check_tenant(slug: str, name: str) -> None:
    """Raise TenantSlugError or TenantNameError for what cannot be registered.

    A slug has 40 characters at most: with what ``tenants.database_prefix`` may be, the database's
    name stays within PostgreSQL's 63.
    """
    if not _SLUG.fullmatch(slug) or slug in RESERVED:
        raise TenantSlugError(
            f"{slug[:100]!r} cannot be the slug of a tenant",
            remedy="Use small letters (a-z), digits and _, a letter first, at most 40 characters;"
            " not 'global'.",
        )
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise TenantNameError(
            f"a tenant's name has 1 to {LONGEST_NAME} characters that can be shown"
        )
