"""Brings the control database's schema to the version that this Leitstand needs."""

import asyncio
import functools
from importlib.resources import files

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from leitstand.errors import LeitstandError, UnavailableError
from leitstand.store.connection import Connection, connection_options, cut_off_after
from leitstand.store.interruptible import in_thread

LOCK = 0x4C53_0001
"""Advisory lock that several servers starting at once take turns on ("LS" and a number)."""

LOOK_DEADLINE = 10.0
"""Seconds that the database may take to say which version it has, connecting included."""

WHOLE = 4
"""How many times the deadline of one statement a migration may take altogether."""

HAS_VERSION = "SELECT to_regclass('alembic_version') IS NOT NULL AS has"
VERSION = "SELECT version_num FROM alembic_version"


class SchemaError(LeitstandError):
    """The database's schema and this program do not fit together."""

    code = "SCHEMA"


@functools.cache
def newest_version() -> str:
    """The version of the newest migration in this installation."""
    versions = files("leitstand.store.migrations") / "versions"
    names = [entry.name for entry in versions.iterdir() if entry.name.endswith(".sql")]
    return max(names).partition("_")[0]


def current_version(connection: psycopg.Connection) -> str | None:
    """The version that the database has, None for an empty one."""
    if connection.execute(HAS_VERSION).fetchone() == (False,):
        return None
    row = connection.execute(VERSION).fetchone()
    return row[0] if row else None


async def version_of(conninfo: str, deadline: float = LOOK_DEADLINE) -> str | None:
    """The version that the database has, None for an empty one; changes nothing.

    Raises UnavailableError when it has not answered within ``deadline`` seconds, whether it is
    away, hangs, or the network swallows everything; psycopg.Error for what it refuses.
    """
    try:
        async with (
            asyncio.timeout(deadline),
            await Connection.connect(
                conninfo, row_factory=dict_row, **connection_options(deadline)
            ) as connection,
        ):
            found = await (await connection.execute(HAS_VERSION)).fetchone()
            if found is None or not found["has"]:
                return None
            row = await (await connection.execute(VERSION)).fetchone()
            return str(row["version_num"]) if row else None
    except TimeoutError as error:
        raise UnavailableError(
            f"the control database has not answered within {deadline:g} s",
            remedy="It hangs, or the network to it does: look at the database server.",
        ) from error
    except psycopg.OperationalError as error:
        raise _away(error) from error


async def bring_up_to_date(conninfo: str) -> None:
    """What ``upgrade`` does, without blocking; a cancellation ends it soon."""
    if await version_of(conninfo) != newest_version():
        await in_thread(lambda: upgrade(conninfo))


def upgrade(conninfo: str, deadline: float = 300.0) -> str | None:
    """Migrate to the newest version; returns the version before, or None if it was empty.

    Up to date costs one query. Several callers at once take turns on an advisory lock, and all
    but the first find nothing to do. A database that is newer than this program is refused with
    SchemaError, since an old server would not know the new rules. Blocks, at most ``deadline``
    seconds in any one statement, and ends when it is given up; what is unfinished is rolled back.
    """
    try:
        with (
            psycopg.connect(conninfo, autocommit=True, connect_timeout=10) as connection,
            cut_off_after(WHOLE * deadline, connection),
        ):
            before = current_version(connection)
            if before == newest_version():
                return before
            _limit(connection, deadline)
            connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
            return _upgrade_locked(connection, conninfo, deadline)
    except psycopg.OperationalError as error:
        raise _away(error) from error


def _away(error: psycopg.Error) -> UnavailableError:
    return UnavailableError("the control database does not answer", detail=str(error).strip())


def _limit(connection: psycopg.Connection, deadline: float) -> None:
    """Let no statement take longer, and none wait longer for a lock."""
    for setting in ("statement_timeout", "lock_timeout"):
        value = sql.Literal(f"{int(deadline * 1000)}ms")
        connection.execute(sql.SQL("SET {} = {}").format(sql.Identifier(setting), value))


def _upgrade_locked(connection: psycopg.Connection, conninfo: str, deadline: float) -> str | None:
    before = current_version(connection)
    if before is not None and before > newest_version():
        raise SchemaError(
            f"the database has schema version {before}, this program knows {newest_version()}",
            remedy="Start the newer Leitstand that migrated it, or restore an older backup.",
        )
    if before != newest_version():
        _run_alembic(conninfo, deadline)
    return before


def _run_alembic(conninfo: str, deadline: float) -> None:
    # Imported here: Alembic costs 0.4 s, and nearly every start finds nothing to migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from sqlalchemy import NullPool, create_engine  # noqa: PLC0415

    driver = psycopg.connect(conninfo, connect_timeout=10)
    engine = create_engine("postgresql+psycopg://", creator=lambda: driver, poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", "leitstand.store:migrations")
    config.set_main_option("path_separator", "os")
    with driver, cut_off_after(WHOLE * deadline, driver):
        _limit(driver, deadline)
        driver.commit()
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
