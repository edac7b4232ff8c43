"""The ledger of tenants: the only code that reads and writes the table tenants."""

from collections.abc import Awaitable, Callable

from leitstand.nearest import no_such
from leitstand.store.database import Connection, Database, load_queries
from leitstand.tenants.tenant import Tenant, UnknownTenantError

queries = load_queries(__file__)

Forget = Callable[[Connection, str], Awaitable[None]]
"""Deletes what is kept elsewhere under a tenant's slug, in the transaction of its removal."""


async def nothing_kept(connection: Connection, slug: str) -> None:
    """Forget nothing: nobody keeps anything."""


class TenantLedger:
    """Tenants by slug. What concerns their databases is the provisioner's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, slug: str, name: str, database: str, reference: str) -> Tenant | None:
        """Register a tenant that is being provisioned; None if slug or database is taken."""
        async with self._database.connection() as connection:
            row = await queries.begin(
                connection, slug=slug, name=name, database=database, reference=reference
            )
        return None if row is None else Tenant.from_row(row)

    async def activate(self, tenant: Tenant) -> Tenant:
        """The tenant is active now; raises UnknownTenantError if it was removed meanwhile."""
        async with self._database.connection() as connection:
            row = await queries.activate(connection, slug=tenant.slug, mark=tenant.mark)
        if row is None:
            raise await self.unknown(tenant.slug)
        return Tenant.from_row(row)

    async def fail_cleanup(self, tenant: Tenant) -> None:
        """What was begun could not be removed: the slug stays taken."""
        async with self._database.connection() as connection:
            await queries.fail_cleanup(connection, slug=tenant.slug, mark=tenant.mark)

    async def mark_deleting(self, slug: str, wait: float) -> Tenant:
        """The tenant goes, its database ``wait`` seconds after the first call.

        Raises UnknownTenantError, also for one that was never active.
        """
        async with self._database.connection() as connection:
            row = await queries.mark_deleting(connection, slug=slug, wait=wait)
        if row is None:
            raise await self.unknown(slug)
        return Tenant.from_row(row)

    async def left_to_wait(self, tenant: Tenant) -> float | None:
        """Seconds until its database may go, by the database's clock; None: the tenant is gone."""
        async with self._database.connection() as connection:
            row = await queries.left_to_wait(connection, slug=tenant.slug, mark=tenant.mark)
        return None if row is None else float(row["seconds"] or 0.0)

    async def remove(self, tenant: Tenant, forget: Forget) -> None:
        """Take a tenant off the registry that is not active, with what others keep for it."""
        async with self._database.transaction() as connection:
            row = await queries.remove(connection, slug=tenant.slug, mark=tenant.mark)
            if row is not None:
                await forget(connection, tenant.slug)

    async def find(self, slug: str) -> Tenant:
        """The tenant; raises UnknownTenantError."""
        async with self._database.connection() as connection:
            row = await queries.find(connection, slug=slug)
        if row is None:
            raise await self.unknown(slug)
        return Tenant.from_row(row)

    async def list_all(self) -> list[Tenant]:
        """All tenants by slug, also those that are on their way."""
        async with self._database.connection() as connection:
            return [Tenant.from_row(row) async for row in queries.list_tenants(connection)]

    async def list_unfinished(self) -> list[Tenant]:
        """Those that are not active."""
        async with self._database.connection() as connection:
            return [Tenant.from_row(row) async for row in queries.list_unfinished(connection)]

    async def unknown(self, slug: str) -> UnknownTenantError:
        """The error for a slug that no tenant has."""
        slugs = [tenant.slug for tenant in await self.list_all()]
        error = no_such("tenant", slug, slugs, "See `leitstand tenant list`.")
        return UnknownTenantError(error.message, remedy=error.remedy)
