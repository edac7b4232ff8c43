"""Migrations: from nothing to the newest schema, by one of many, never backwards."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from leitstand.errors import UnavailableError
from leitstand.store.schema import SchemaError, newest_version, upgrade
from scripts.write_schema import SCHEMA_FILE, dump_schema
from tests.conftest import TEMPLATE, Postgres


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


def test_the_schema_equals_the_migrations(postgres: Postgres) -> None:
    """What people read in schema.sql is what the migrations make (`make schema` writes it)."""
    assert Path(SCHEMA_FILE).read_text() == dump_schema(
        postgres.conninfo(TEMPLATE), postgres.cluster.binaries
    )
