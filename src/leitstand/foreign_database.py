"""An application's database of any supported kind: its URL, as an engine."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import psycopg
from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.util import await_only

from leitstand.errors import UsageError
from leitstand.masking import mask_url

CONNECT = 10
"""Seconds that a connection may take to come about."""

_DRIVERS = {
    "mysql": "mysql+asyncmy",
    "mariadb": "mysql+asyncmy",
    "sqlite": "sqlite+aiosqlite",
}

_REFUSALS = {1040, 1044, 1045, 1049, 1129, 1130, 1203, 1226, 1698}
"""Too many connections, a wrong user, password, database or host, of MySQL and MariaDB."""


@dataclass(frozen=True)
class ForeignDatabase:
    """Another program's database, to read; ``setting`` is the name of the setting with its URL.

    A file of SQLite that is not there is an error and never made.
    """

    url: str = field(repr=False)
    setting: str

    def engine(self) -> AsyncEngine:
        """A way to the database; raises UsageError, without repeating the URL."""
        scheme = self.url.partition("://")[0].partition("+")[0].lower()
        if scheme in _DRIVERS:
            return self._engine(scheme)
        if "://" in self.url and not scheme.startswith("postgres"):
            raise UsageError(
                f"{self.setting} begins with {scheme}://, which is no supported database",
                remedy="Use postgresql://, mysql://, mariadb:// or sqlite://.",
            )
        return create_async_engine(
            "postgresql+psycopg://", async_creator=_connector(self.url), poolclass=NullPool
        )

    def said(self, error: BaseException) -> str:
        """What a driver said, without passwords."""
        text = mask_url(str(getattr(error, "orig", None) or error).strip())
        password = self._password()
        return text.replace(password, "***") if password else text

    def is_refusing(self, error: BaseException) -> bool:
        """Whether the server answered that it lets us in by no means, or not now.

        Who cannot connect to PostgreSQL gets no code from libpq, only the word FATAL. A server that
        says it in another word of its language counts as one that does not answer.
        """
        if isinstance(error, DBAPIError) and isinstance(error.orig, psycopg.Error):
            error = error.orig
        if isinstance(error, psycopg.OperationalError):
            return "FATAL: " in str(error)
        return error_number(error) in _REFUSALS

    def _engine(self, scheme: str) -> AsyncEngine:
        try:
            url = make_url(self.url).set(drivername=_DRIVERS[scheme])
            if scheme == "sqlite":
                return _reading_sqlite(_existing_file(url))
            options = {"connect_timeout": CONNECT}
            return create_async_engine(url, connect_args=options, poolclass=NullPool)
        except (ArgumentError, ValueError):
            raise UsageError(
                f"{self.setting} is not a URL",
                remedy="Write it like mysql://user:password@host:3306/database.",
            ) from None  # the error repeats what it was given

    def _password(self) -> str | None:
        try:
            if self.url.partition("://")[0].partition("+")[0].lower() in _DRIVERS:
                return make_url(self.url).password or None
            password = psycopg.conninfo.conninfo_to_dict(self.url).get("password")
            return None if password is None else str(password)
        except (ArgumentError, ValueError, psycopg.Error):
            return None


def error_number(error: BaseException) -> object:
    """The number that MySQL and MariaDB give an error; None of anything else."""
    arguments = getattr(getattr(error, "orig", None), "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _existing_file(url: URL) -> URL:
    """The URL of a file of SQLite as one by which the file is not made when it is not there.

    Not ``mode=ro``: whoever reads a database in WAL mode like that leaves files beside it which the
    application may not write to, and cannot read one that its application left in the middle.
    """
    if not url.database or url.database == ":memory:":
        return url
    file = url.database
    name = file if file.startswith("file:") else f"file:{quote(file)}"
    return url.set(database=name, query={**url.query, "mode": "rw", "uri": "true"})


def _reading_sqlite(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, poolclass=NullPool)

    @event.listens_for(engine.sync_engine, "do_connect")
    def look_first(_: object, __: object, arguments: Any, options: Any) -> None:  # noqa: ANN401 -- the driver's
        # Where opening fails, aiosqlite leaves a thread which nobody can wait for, and that fails
        # itself when the event loop has ended by then.
        await_only(asyncio.to_thread(_open_once, *arguments, **options))

    @event.listens_for(engine.sync_engine, "connect")
    def refuse_writing(connection: Any, _: object) -> None:  # noqa: ANN401 -- the driver's
        cursor = connection.cursor()
        cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    return engine


def _open_once(*arguments: Any, **options: Any) -> None:  # noqa: ANN401 -- the driver's
    sqlite3.connect(*arguments, **options).close()


def _connector(conninfo: str) -> Callable[[], Any]:
    """libpq itself reads URL or connection string, so everything works that psql takes."""
    text = conninfo
    if "://" in conninfo:
        text = "postgresql://" + conninfo.partition("://")[2]

    async def connect() -> psycopg.AsyncConnection[Any]:
        connection = await psycopg.AsyncConnection.connect(
            text, connect_timeout=CONNECT, application_name="leitstand"
        )
        connection.server_cursor_factory = _Cursor
        return connection

    return connect


class _Cursor(psycopg.AsyncServerCursor[Any]):
    """Ends with its connection, which no reading outlives; so one that was cut off is no leak."""

    def __del__(self, __warn: object = None) -> None:
        """Say nothing."""
