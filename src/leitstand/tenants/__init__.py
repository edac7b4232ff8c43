"""Tenants: a registry, and a PostgreSQL database for each."""

from leitstand.tenants.provisioner import Provisioner, TenantSettings
from leitstand.tenants.tenant import (
    Tenant,
    TenantDatabaseError,
    TenantExistsError,
    TenantNameError,
    TenantSlugError,
    TenantStatus,
    UnknownTenantError,
)
from leitstand.tenants.tenant_ledger import TenantLedger

__all__ = [
    "Provisioner",
    "Tenant",
    "TenantDatabaseError",
    "TenantExistsError",
    "TenantLedger",
    "TenantNameError",
    "TenantSettings",
    "TenantSlugError",
    "TenantStatus",
    "UnknownTenantError",
]
