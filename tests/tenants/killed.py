"""A process that works on tenants and kills itself after a given number of statements."""

import asyncio
import os
import signal
import sys
from typing import Any

import psycopg

from leitstand.store.database import Database
from leitstand.tenants import Provisioner, TenantLedger, TenantSettings
from tests.forking import serve


def work(request: str) -> str:
    """``provision|delete SLUG N``: do it, and die right after statement N (0: before the first)."""
    action, slug, number = request.split()
    _die_after(int(number))
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


def _die_after(number: int) -> None:
    execute, done = psycopg.AsyncCursor.execute, 0

    async def counting(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal done
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return await execute(self, *arguments, **options)

    psycopg.AsyncCursor.execute = counting  # type: ignore[method-assign]


if __name__ == "__main__":
    serve(work)
