"""Kills who makes and deletes tenants at random moments: ``python -m tests.tenants.campaign``.

KILLS and SEED from the environment. Exit status 1 unless registry and databases agree after each.
"""

import asyncio
import os
import random
import sys
import time
from dataclasses import dataclass

import psycopg

from leitstand.store.database import Database
from leitstand.tenants import Provisioner, TenantLedger, TenantSettings, TenantStatus
from tests.campaign_server import campaign_server
from tests.conftest import Postgres
from tests.forking import Forker, forker
from tests.jobs.scene import eventually

ALL = 999
"""More statements than any of this takes."""


@dataclass
class Scene:
    """A registry, the server of the tenants' databases, and who is killed."""

    provisioner: Provisioner
    ledger: TenantLedger
    postgres: Postgres
    prefix: str
    killed: Forker

    async def done_in(self, request: str) -> float:
        """Seconds of something that is not killed."""
        began = time.monotonic()
        await asyncio.to_thread(self.killed.start, f"{request} {ALL}")
        assert (await asyncio.to_thread(self.killed.end)).strip() == "done"
        return time.monotonic() - began

    async def kill(self, request: str, after: float) -> None:
        """Begin something and kill it then."""
        pid = await asyncio.to_thread(self.killed.start, f"{request} {ALL}")
        await asyncio.to_thread(self.killed.kill_after, pid, after)

    async def mended(self) -> None:
        """Repair until nothing is unfinished: a statement of the killed may still be at work."""
        await eventually(self._mend, patience=60)

    async def _mend(self) -> bool | None:
        await self.provisioner.repair()
        return not await self.ledger.list_unfinished() or None

    async def check(self) -> None:
        """Each tenant is active and its database answers; there is no other database."""
        tenants = await self.ledger.list_all()
        assert {tenant.status for tenant in tenants} <= {TenantStatus.ACTIVE}
        assert databases(self.postgres, self.prefix) == {tenant.database for tenant in tenants}
        for tenant in tenants:
            psycopg.connect(self.postgres.conninfo(tenant.database)).close()


def databases(postgres: Postgres, prefix: str) -> set[str]:
    """The databases of tenants, complete or not."""
    query = (
        "SELECT datname FROM pg_database"
        " WHERE starts_with(datname, %s) OR starts_with(datname, 'leitstand_new_')"
    )
    with psycopg.connect(postgres.conninfo()) as connection:
        return {row[0] for row in connection.execute(query, (prefix,)).fetchall()}


def roles(postgres: Postgres) -> set[str]:
    """All roles of the server."""
    with psycopg.connect(postgres.conninfo()) as connection:
        return {row[0] for row in connection.execute("SELECT rolname FROM pg_roles").fetchall()}


async def campaign(scene: Scene, kills: int, chance: random.Random) -> tuple[int, int]:
    """Kill by turns who makes a tenant and who deletes one; how many got there nevertheless."""
    known = roles(scene.postgres)
    making = await scene.done_in("provision first")
    deleting = await scene.done_in("delete first")
    made = deleted = 0
    for number in range(kills):
        slug = f"t{number}"
        await scene.kill(f"provision {slug}", chance.uniform(0, making * 1.2))
        if number % 2:
            await scene.mended()
            await scene.check()
            made += slug in {tenant.slug for tenant in await scene.ledger.list_all()}
            continue
        await scene.mended()
        if slug not in {tenant.slug for tenant in await scene.ledger.list_all()}:
            await scene.provisioner.provision(slug, slug)
        await scene.kill(f"delete {slug}", chance.uniform(0, deleting * 1.2))
        await scene.mended()
        await scene.check()
        deleted += slug not in {tenant.slug for tenant in await scene.ledger.list_all()}
    assert roles(scene.postgres) == known
    return made, deleted


async def main() -> int:
    """Run it on a server of its own, which is gone afterwards."""
    kills, seed = int(os.environ.get("KILLS", "50")), int(os.environ.get("SEED", "1"))
    prefix, began = "campaign_t_", time.monotonic()
    with (
        campaign_server() as (postgres, conninfo),
        forker("tests.tenants.killed", conninfo, prefix) as killed,
    ):
        async with Database(conninfo) as database:
            ledger = TenantLedger(database)
            settings = TenantSettings(conninfo, "database.url", prefix, 0.0)
            scene = Scene(Provisioner(ledger, settings), ledger, postgres, prefix, killed)
            made, deleted = await campaign(scene, kills, random.Random(seed))
    print(
        f"{kills} rounds, {made} of {kills // 2} tenants complete in spite of the kill, "
        f"{deleted} of {kills - kills // 2} deleted; registry and databases agreed after each "
        f"({time.monotonic() - began:.0f} s)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
