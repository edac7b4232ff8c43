"""Migrations: from nothing to the newest schema, by one of many, never backwards."""

import asyncio
import time
from pathlib import Path

import psycopg
import pytest

from leitstand.errors import UnavailableError
from leitstand.store.schema import (
    LOCK,
    SchemaError,
    bring_up_to_date,
    newest_version,
    upgrade,
    version_of,
)
from scripts.write_schema import SCHEMA_FILE, dump_schema
from tests.conftest import TEMPLATE, Postgres
from tests.store.embedded_scene import hanging, wait_until


def test_an_empty_database_is_migrated_once(postgres: Postgres) -> None:
    postgres.create_database("schema_once")
    conninfo = postgres.conninfo("schema_once")
    assert upgrade(conninfo) is None
    assert upgrade(conninfo) == newest_version()
    postgres.drop_database("schema_once")


async def test_servers_that_start_together_take_turns(postgres: Postgres) -> None:
    postgres.create_database("schema_together")
    conninfo = postgres.conninfo("schema_together")
    before = await asyncio.gather(*(asyncio.to_thread(upgrade, conninfo) for _ in range(4)))
    assert set(before) <= {None, newest_version()}
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    assert rows == [(newest_version(),)]
    postgres.drop_database("schema_together")


def test_a_newer_database_is_refused(conninfo: str) -> None:
    with psycopg.connect(conninfo) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaError, match="9999"):
        upgrade(conninfo)


def test_no_server_is_a_clear_error() -> None:
    with pytest.raises(UnavailableError) as caught:
        upgrade("host=/nonexistent dbname=x user=x")
    assert caught.value.detail


async def test_a_database_that_hangs_is_a_clear_error(own_postgres: Postgres) -> None:
    with hanging(own_postgres.cluster), pytest.raises(UnavailableError, match=r"within 0\.5 s"):
        await version_of(own_postgres.conninfo(TEMPLATE), 0.5)


async def test_a_start_that_waits_for_its_turn_can_be_given_up(postgres: Postgres) -> None:
    """Another server migrates, or hangs while it does: SIGTERM does not wait for it."""
    postgres.create_database("schema_turn")
    conninfo = postgres.conninfo("schema_turn")
    with psycopg.connect(conninfo, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        start = asyncio.create_task(bring_up_to_date(conninfo))
        await asyncio.to_thread(wait_until, lambda: _is_waited_for(other))
        start.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await start
        assert time.monotonic() - began < 2.0
    await bring_up_to_date(conninfo)
    assert await version_of(conninfo) == newest_version()
    postgres.drop_database("schema_turn")


def _is_waited_for(holder: psycopg.Connection) -> bool:
    query = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    return holder.execute(query).fetchone() is not None


def test_the_schema_equals_the_migrations(postgres: Postgres) -> None:
    """What people read in schema.sql is what the migrations make (`make schema` writes it)."""
    assert Path(SCHEMA_FILE).read_text() == dump_schema(
        postgres.conninfo(TEMPLATE), postgres.cluster.binaries
    )
