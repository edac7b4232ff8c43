"""Tenants that are in the registry and have no database, for tests of what only asks for them."""

from leitstand.store.database import Database
from leitstand.tenants import TenantLedger


async def register(conninfo: str, *slugs: str) -> None:
    """Register active tenants."""
    async with Database(conninfo, pool_size=1) as database:
        ledger = TenantLedger(database)
        for slug in slugs:
            begun = await ledger.begin(slug, slug.upper(), f"none_{slug}", "database.url")
            assert begun is not None
            await ledger.activate(begun)
