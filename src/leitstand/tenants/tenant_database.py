"""Makes and drops tenants' databases, on one connection of an administrator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from leitstand.errors import UnavailableError
from leitstand.store.connection import Connection, connection_options
from leitstand.tenants.tenant import Tenant, TenantDatabaseError, TenantExistsError

DEADLINE = 60.0
"""Seconds for each statement: a database is made by copying files."""

LOCK = 0x4C53_0004
"""First half of the advisory locks by which who works on a tenant is alone."""


class TenantDatabases:
    """The databases of one server, as ``admin_session`` opens it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def try_lock(self, slug: str) -> bool:
        """Be alone with this tenant until ``unlock``; False if somebody else is.

        The lock is held by the session that makes and drops: of a process that was killed, until
        the statement that it left behind has ended.
        """
        query = "SELECT pg_try_advisory_lock(%s, hashtext(%s)) AS alone"
        row = await (await self._connection.execute(query, (LOCK, slug))).fetchone()
        return row is not None and bool(row["alone"])

    async def unlock(self, slug: str) -> None:
        """Let others work on the tenant.

        So does the end of the connection, but only when the server has noticed it: until then our
        own next call would be refused.
        """
        with suppress(psycopg.Error):  # a connection that broke holds no lock for long
            await self._connection.execute(
                "SELECT pg_advisory_unlock(%s, hashtext(%s))", (LOCK, slug)
            )

    async def create(self, tenant: Tenant) -> None:
        """Make the database; raises TenantExistsError if its name is taken.

        It carries the tenant's mark before it has its name: what has the name and another mark, or
        none, is somebody else's.
        """
        fresh = _fresh_name(tenant)
        await self._run("CREATE DATABASE {} TEMPLATE template0", fresh)
        comment = sql.SQL("COMMENT ON DATABASE {} IS {}")
        await self._connection.execute(
            comment.format(sql.Identifier(fresh), sql.Literal(_comment(tenant)))
        )
        try:
            await self._run("ALTER DATABASE {} RENAME TO {}", fresh, tenant.database)
        except psycopg.errors.DuplicateDatabase:
            raise TenantExistsError(
                f"there is a database {tenant.database} that belongs to somebody else",
                remedy="Choose another slug, or another tenants.database_prefix.",
            ) from None

    async def is_complete(self, tenant: Tenant) -> bool:
        """Whether the tenant's own database is there under its name."""
        query = (
            "SELECT shobj_description(oid, 'pg_database') AS comment"
            " FROM pg_database WHERE datname = %s"
        )
        row = await (await self._connection.execute(query, (tenant.database,))).fetchone()
        return row is not None and row["comment"] == _comment(tenant)

    async def close(self, tenant: Tenant) -> None:
        """Let nobody into the database any more; who is in stays."""
        if await self.is_complete(tenant):
            await self._run("ALTER DATABASE {} ALLOW_CONNECTIONS false", tenant.database)

    async def drop(self, tenant: Tenant) -> None:
        """Drop what there is of the tenant's database, cutting off whoever is in it."""
        await self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", _fresh_name(tenant))
        if await self.is_complete(tenant):
            await self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", tenant.database)

    async def _run(self, statement: str, *names: str) -> None:
        identifiers = (sql.Identifier(name) for name in names)
        await self._connection.execute(sql.SQL(statement).format(*identifiers))


@asynccontextmanager
async def admin_session(conninfo: str) -> AsyncIterator[TenantDatabases]:
    """A connection of its own; raises UnavailableError, and TenantDatabaseError for refusals."""
    try:
        async with await Connection.connect(
            conninfo, row_factory=dict_row, **connection_options(DEADLINE)
        ) as connection:
            await connection.execute(
                sql.SQL("SET statement_timeout = {}").format(sql.Literal(f"{DEADLINE:g}s"))
            )
            yield TenantDatabases(connection)
    except psycopg.OperationalError as error:
        raise UnavailableError(
            "the server for tenants' databases does not answer", detail=str(error).strip()
        ) from error
    except psycopg.Error as error:
        raise TenantDatabaseError(
            "the database server refuses what the tenant needs",
            detail=str(error).strip(),
            remedy="The role of tenants.admin_url must be allowed to create databases.",
        ) from error


def _fresh_name(tenant: Tenant) -> str:
    """What the database is called until it is complete; nobody else can have chosen it."""
    return f"leitstand_new_{tenant.mark.hex}"


def _comment(tenant: Tenant) -> str:
    return f"Leitstand tenant {tenant.mark}"
