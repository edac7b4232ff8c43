"""Gives tenants their databases and takes them away, so that a crash at any moment can be mended.

The row comes first and goes last: there is no database without a row that says what becomes of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from leitstand.errors import ConflictError, LeitstandError
from leitstand.tenants.tenant import Tenant, TenantExistsError, TenantStatus, check_tenant
from leitstand.tenants.tenant_database import TenantDatabases, admin_session
from leitstand.tenants.tenant_ledger import Forget, TenantLedger, nothing_kept

log = structlog.get_logger(__name__)

REPAIR_EVERY = 60.0
"""Seconds between two looks for what was left unfinished."""

PATIENCE = 30.0
"""Seconds that a deletion waits for the database's time to come before others finish it."""


@dataclass(frozen=True)
class TenantSettings:
    """Where databases are made, what they are called, how long deleted ones are kept (seconds)."""

    admin_conninfo: str
    reference: str
    database_prefix: str = "leitstand_tenant_"
    delete_after: float = 5.0


class Provisioner:
    """Works on tenants, one at a time for each, over all servers.

    ``forget`` deletes what others keep for a tenant that is removed.
    """

    def __init__(
        self, ledger: TenantLedger, settings: TenantSettings, forget: Forget = nothing_kept
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._forget = forget

    async def provision(self, slug: str, name: str) -> Tenant:
        """Make a tenant with its database; on any failure neither is left.

        Raises TenantSlugError, TenantNameError, TenantExistsError, TenantDatabaseError and
        UnavailableError.
        """
        check_tenant(slug, name)
        async with self._alone(slug) as databases:
            database = self._settings.database_prefix + slug
            tenant = await self._ledger.begin(slug, name, database, self._settings.reference)
            if tenant is None:
                raise TenantExistsError(
                    f"there is a tenant {slug}", remedy="`leitstand tenant list` shows all."
                )
            try:
                await databases.create(tenant)
                return await self._ledger.activate(tenant)
            except Exception:  # whatever stopped it, nothing may be left behind
                await self._undo(tenant)
                raise

    async def delete(self, slug: str) -> Tenant:
        """Let nobody into the tenant's database any more, and drop it when its time has come.

        What is returned says how far that is: if the time is longer than half a minute, the control
        server drops it then. A call that was interrupted can be repeated. Raises
        UnknownTenantError.
        """
        tenant = await self._ledger.mark_deleting(slug, self._settings.delete_after)
        async with self._alone(slug) as databases:
            await databases.close(tenant)
        left = await self._ledger.left_to_wait(tenant)
        if left is not None and left <= PATIENCE:
            await asyncio.sleep(left)
            async with self._alone(slug) as databases:
                await self._drop(databases, tenant)
        return tenant

    async def repair(self) -> list[str]:
        """Finish what others have left; the slugs of tenants that were mended.

        What somebody works on at this moment is left to them.
        """
        done = []
        for tenant in await self._ledger.list_unfinished():
            try:
                async with self._alone(tenant.slug) as databases:
                    if await self._mend(databases, tenant):
                        done.append(tenant.slug)
            except ConflictError:
                continue
            except LeitstandError as error:
                log.warning("tenant not mended", tenant=tenant.slug, error=error.message)
        return done

    async def run(self) -> None:
        """Repair now and again and again, until cancelled."""
        while True:
            try:
                if mended := await self.repair():
                    log.info("unfinished tenants mended", tenants=mended)
            except LeitstandError as error:
                log.warning("unfinished tenants not looked for", error=error.message)
            await asyncio.sleep(REPAIR_EVERY)

    async def _mend(self, databases: TenantDatabases, tenant: Tenant) -> bool:
        if tenant.status is TenantStatus.DELETING:
            left = await self._ledger.left_to_wait(tenant)
            if left:
                return False
        elif tenant.status is TenantStatus.PROVISIONING and await databases.is_complete(tenant):
            # It may have been activated, or removed, since it was listed.
            current = {t.mark for t in await self._ledger.list_unfinished()}
            if tenant.mark in current:
                await self._ledger.activate(tenant)
            return True
        await self._drop(databases, tenant)
        return True

    async def _undo(self, tenant: Tenant) -> None:
        """Remove what a failed provisioning has left, on a connection that works."""
        try:
            async with admin_session(self._settings.admin_conninfo) as databases:
                await self._drop(databases, tenant)
        except LeitstandError as error:
            log.warning("a failed tenant is not removed yet", slug=tenant.slug, error=error.message)
            try:
                await self._ledger.fail_cleanup(tenant)
            except LeitstandError:
                log.warning("a failed tenant stays as provisioning", slug=tenant.slug)

    async def _drop(self, databases: TenantDatabases, tenant: Tenant) -> None:
        """Drop the database and then the row; for a tenant that has become active, nothing."""
        current = {t.mark for t in await self._ledger.list_unfinished()}
        if tenant.mark in current:
            await databases.drop(tenant)
            await self._ledger.remove(tenant, self._forget)

    @asynccontextmanager
    async def _alone(self, slug: str) -> AsyncIterator[TenantDatabases]:
        async with admin_session(self._settings.admin_conninfo) as databases:
            if not await databases.try_lock(slug):
                raise ConflictError(
                    f"somebody is working on the tenant {slug}",
                    remedy="Try again in a moment.",
                    code="TENANT_BUSY",
                )
            try:
                yield databases
            finally:
                await databases.unlock(slug)
