"""Tenants on real databases: made, deleted, and mended after a crash at any moment."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from leitstand.configuration import CachedSettings, SettingLedger, UnknownSettingError
from leitstand.errors import ConflictError
from leitstand.store.database import Database
from leitstand.tenants import (
    Provisioner,
    Tenant,
    TenantDatabaseError,
    TenantExistsError,
    TenantLedger,
    TenantNameError,
    TenantSettings,
    TenantSlugError,
    TenantStatus,
    UnknownTenantError,
)
from leitstand.tenants.tenant_database import admin_session
from tests.conftest import Postgres
from tests.forking import forker
from tests.tenants.campaign import Scene, campaign, databases


@pytest.fixture
def prefix(conninfo: str, postgres: Postgres) -> Iterator[str]:
    """What this test's tenants' databases are called; they are dropped at the end."""
    prefix = psycopg.conninfo.conninfo_to_dict(conninfo)["dbname"]
    assert isinstance(prefix, str)
    yield f"{prefix}_t_"
    for name in databases(postgres, f"{prefix}_t_"):
        postgres.drop_database(name)


@pytest.fixture
def ledger(database: Database) -> TenantLedger:
    return TenantLedger(database)


@pytest.fixture
def provisioner(ledger: TenantLedger, conninfo: str, prefix: str) -> Provisioner:
    settings = TenantSettings(conninfo, "database.url", prefix, 0.0)
    return Provisioner(ledger, settings, SettingLedger(ledger._database).forget_in)


@contextmanager
def administrator(postgres: Postgres) -> Iterator["psycopg.Connection[tuple[str]]"]:
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        yield connection


async def test_a_tenant_has_a_database_until_it_is_deleted(
    provisioner: Provisioner, ledger: TenantLedger, postgres: Postgres, prefix: str
) -> None:
    tenant = await provisioner.provision("acme", "Acme & Söhne")
    assert (tenant.status, tenant.database) == (TenantStatus.ACTIVE, f"{prefix}acme")
    assert set(tenant.as_dict()) == {
        *("slug", "name", "database", "status", "created_at", "drop_at"),
    }
    assert await ledger.find("acme") == tenant
    with psycopg.connect(postgres.conninfo(tenant.database)) as connection:
        connection.execute("CREATE TABLE t (id int)")
    with pytest.raises(TenantExistsError):
        await provisioner.provision("acme", "Other")
    assert databases(postgres, prefix) == {tenant.database}
    with psycopg.connect(postgres.conninfo(tenant.database)):  # nobody holds it up
        await provisioner.delete("acme")
    assert databases(postgres, prefix) == set()
    assert await ledger.list_all() == []
    with pytest.raises(UnknownTenantError):
        await provisioner.delete("acme")


async def test_the_next_one_of_a_slug_has_nothing_of_the_last(
    provisioner: Provisioner, database: Database
) -> None:
    """Neither its settings nor their history; those of others, and the global ones, stay."""
    ledger = SettingLedger(database)
    await provisioner.provision("acme", "A")
    for scope in ("acme", "global", "other"):
        await ledger.save("mail", f"{scope}@example.org", scope=scope, changed_by="a")
    cached = CachedSettings(ledger)
    assert (await cached.resolve("mail", "acme")).value == "acme@example.org"
    await provisioner.delete("acme")
    await provisioner.provision("acme", "Another")
    cached.invalidate("mail")
    assert (await cached.resolve("mail", "acme")).value == "global@example.org"
    with pytest.raises(UnknownSettingError):
        await ledger.history("mail", "acme")
    fresh = await ledger.save("mail", "new@example.org", scope="acme", changed_by="b")
    assert fresh.version == 1
    assert len(await ledger.list_all()) == 3


async def test_of_many_at_once_one_gets_the_slug(
    provisioner: Provisioner, ledger: TenantLedger, postgres: Postgres, prefix: str
) -> None:
    tried = await asyncio.gather(
        *(provisioner.provision("acme", "A") for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(each, Tenant) for each in tried) == 1
    assert sum(isinstance(each, ConflictError) for each in tried) == 7
    assert databases(postgres, prefix) == {f"{prefix}acme"}


async def test_who_is_done_with_a_tenant_is_in_nobodys_way(conninfo: str) -> None:
    """A connection that is being closed would hold its lock a moment longer."""
    async with admin_session(conninfo) as one, admin_session(conninfo) as other:
        assert await one.try_lock("acme")
        assert not await other.try_lock("acme")
        await one.unlock("acme")
        assert await other.try_lock("acme")


@pytest.mark.parametrize(
    "slug", ["", "Acme", "1a", "a-b", "a" * 41, "_a", "a\n", 'a"; DROP', "global", "ä"]
)
async def test_slugs_that_cannot_be(provisioner: Provisioner, slug: str) -> None:
    with pytest.raises(TenantSlugError):
        await provisioner.provision(slug, "A")


@pytest.mark.parametrize("name", ["", " ", "a\n", "\x00", "x" * 201])
async def test_names_that_cannot_be(provisioner: Provisioner, name: str) -> None:
    with pytest.raises(TenantNameError):
        await provisioner.provision("acme", name)


async def test_a_database_of_somebody_else_is_never_touched(
    provisioner: Provisioner, ledger: TenantLedger, postgres: Postgres, prefix: str
) -> None:
    postgres.create_database(f"{prefix}acme")
    with pytest.raises(TenantExistsError):
        await provisioner.provision("acme", "A")
    assert await ledger.list_all() == []
    assert databases(postgres, prefix) == {f"{prefix}acme"}


async def test_what_the_server_refuses_leaves_nothing(
    ledger: TenantLedger, conninfo: str, postgres: Postgres, prefix: str
) -> None:
    """A role that may create no databases; the refusal tells no password."""
    role = f"{prefix}role"
    with administrator(postgres) as connection:
        connection.execute(f'CREATE ROLE "{role}" LOGIN')
    try:
        refused = psycopg.conninfo.make_conninfo(conninfo, user=role)
        settings = TenantSettings(refused, "tenants.admin_url", prefix, 0.0)
        with pytest.raises(TenantDatabaseError):
            await Provisioner(ledger, settings).provision("acme", "A")
    finally:
        with administrator(postgres) as connection:
            connection.execute(f'DROP ROLE "{role}"')
    assert await ledger.list_all() == []
    assert databases(postgres, prefix) == set()


async def test_what_cannot_be_removed_keeps_its_slug(
    provisioner: Provisioner,
    ledger: TenantLedger,
    postgres: Postgres,
    prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Case 61: the failed tenant's database resists; somebody is in it, which does not count."""

    def protect(yes: bool) -> None:
        with administrator(postgres) as connection:
            connection.execute(f'ALTER DATABASE "{prefix}acme" IS_TEMPLATE {yes}')

    async def fail(tenant: Tenant) -> Tenant:
        protect(True)
        raise TenantDatabaseError("no")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "activate", fail)
        with pytest.raises(TenantDatabaseError):
            await provisioner.provision("acme", "A")
    assert (await ledger.find("acme")).status is TenantStatus.FAILED_CLEANUP
    with pytest.raises(TenantExistsError):
        await provisioner.provision("acme", "A")
    assert await provisioner.repair() == []
    protect(False)
    with psycopg.connect(postgres.conninfo(f"{prefix}acme")):
        assert await provisioner.repair() == ["acme"]
    assert databases(postgres, prefix) == set()
    assert (await provisioner.provision("acme", "A")).status is TenantStatus.ACTIVE


async def test_a_deletion_waits_and_lets_nobody_in_meanwhile(
    ledger: TenantLedger, conninfo: str, postgres: Postgres, prefix: str
) -> None:
    settings = TenantSettings(conninfo, "database.url", prefix, 3600.0)
    provisioner = Provisioner(ledger, settings)
    tenant = await provisioner.provision("acme", "A")
    first = await provisioner.delete("acme")
    again = await provisioner.delete("acme")
    assert first.status is again.status is TenantStatus.DELETING
    assert first.drop_at == again.drop_at
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.conninfo(tenant.database))
    assert await provisioner.repair() == []
    async with ledger._database.connection() as connection:
        await connection.execute("UPDATE tenants SET drop_at = now()")
    assert await provisioner.repair() == ["acme"]
    assert databases(postgres, prefix) == set()


@pytest.mark.parametrize("action", ["provision", "delete"])
async def test_killed_after_every_statement(
    provisioner: Provisioner,
    ledger: TenantLedger,
    conninfo: str,
    postgres: Postgres,
    prefix: str,
    action: str,
) -> None:
    """Registry and databases agree after the repair, wherever it was killed."""
    with forker("tests.tenants.killed", conninfo, prefix) as helper:
        scene = Scene(provisioner, ledger, postgres, prefix, helper)
        for number in range(60):
            if action == "delete" and "acme" not in {t.slug for t in await ledger.list_all()}:
                await provisioner.provision("acme", "A")
            await asyncio.to_thread(helper.start, f"{action} acme {number}")
            complete = (await asyncio.to_thread(helper.end)).strip() == "done"
            await scene.mended()
            await scene.check()
            tenants = await ledger.list_all()
            if complete:
                assert number > 5
                assert len(tenants) == (1 if action == "provision" else 0)
                return
            if action == "provision" and tenants:
                await provisioner.delete("acme")
    raise AssertionError("it never came to its end")


async def test_killed_at_any_time(
    provisioner: Provisioner, ledger: TenantLedger, conninfo: str, postgres: Postgres, prefix: str
) -> None:
    """In the middle of statements, too: the short form of ``python -m tests.tenants.campaign``."""
    with forker("tests.tenants.killed", conninfo, prefix) as helper:
        scene = Scene(provisioner, ledger, postgres, prefix, helper)
        await campaign(scene, 6, random.Random(4))
