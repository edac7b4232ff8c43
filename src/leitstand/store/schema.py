"""Brings the control database's schema to the version that this Leitstand needs."""

import functools
from importlib.resources import files

import psycopg
from psycopg import sql

from leitstand.errors import LeitstandError, UnavailableError

LOCK = 0x4C53_0001
"""Advisory lock that several servers starting at once take turns on ("LS" and a number)."""


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
    if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row[0] if row else None


def upgrade(conninfo: str, deadline: float = 300.0) -> str | None:
    """Migrate to the newest version; returns the version before, or None if it was empty.

    Up to date costs one query. Several callers at once take turns on an advisory lock, and all
    but the first find nothing to do. A database that is newer than this program is refused with
    SchemaError, since an old server would not know the new rules. Blocks, at most ``deadline``
    seconds in any one statement.
    """
    try:
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=10) as connection:
            before = current_version(connection)
            if before == newest_version():
                return before
            _limit(connection, deadline)
            connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
            return _upgrade_locked(connection, conninfo, deadline)
    except psycopg.OperationalError as error:
        raise UnavailableError(
            "the control database does not answer", detail=str(error).strip()
        ) from error


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

    def connect() -> psycopg.Connection:
        connection = psycopg.connect(conninfo)
        _limit(connection, deadline)
        connection.commit()
        return connection

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", "leitstand.store:migrations")
    config.set_main_option("path_separator", "os")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
