"""A process that works on tenants and kills itself after a given number of statements."""

import asyncio
import sys

from leitstand.store.database import Database
from leitstand.tenants import Provisioner, TenantLedger, TenantSettings
from tests.forking import die_after, serve


def work(request: str) -> str:
    """``provision|delete SLUG N``: do it, and die right after statement N (0: before the first)."""
    action, slug, number = request.split()
    die_after(int(number))
    asyncio.run(_do(action, slug))
    return "done"


async def _do(action: str, slug: str) -> None:
    conninfo, prefix = sys.argv[1:]
    async with Database(conninfo, pool_size=1) as database:
        settings = TenantSettings(conninfo, "database.url", prefix, 0.0)
        provisioner = Provisioner(TenantLedger(database), settings)
        if action == "provision":
            await provisioner.provision(slug, slug.upper())
        else:
            await provisioner.delete(slug)


if __name__ == "__main__":
    serve(work)
