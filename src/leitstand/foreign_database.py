"""An application's database of any supported kind: its URL, as an engine."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from leitstand.errors import UsageError
from leitstand.masking import mask_url

CONNECT = 10
"""Seconds that a connection may take to come about."""

_DRIVERS = {
    "mysql": "mysql+asyncmy",
    "mariadb": "mysql+asyncmy",
    "sqlite": "sqlite+aiosqlite",
}


@dataclass(frozen=True)
class ForeignDatabase:
    """Another program's database; ``setting`` is the name under which people gave its URL."""

    url: str = field(repr=False)
    setting: str

    def engine(self) -> AsyncEngine:
        """A way to the database; raises UsageError, without repeating the URL."""
        scheme = self.url.partition("://")[0].partition("+")[0].lower()
        if scheme in _DRIVERS:
            return self._engine(_DRIVERS[scheme])
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

    def _engine(self, driver: str) -> AsyncEngine:
        try:
            options = {"connect_timeout": CONNECT} if driver.startswith("mysql") else {}
            return create_async_engine(
                make_url(self.url).set(drivername=driver), connect_args=options, poolclass=NullPool
            )
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
