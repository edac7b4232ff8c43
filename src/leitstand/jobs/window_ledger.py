"""The ledger of maintenance windows: the only code that reads and writes the table windows."""

from collections.abc import Mapping
from typing import Any

import structlog

from leitstand.jobs.job_ledger import look_again_at_postponed
from leitstand.jobs.window import DatedWindow, Window
from leitstand.jobs.window_spec import WindowError, WindowSpec, parse_window
from leitstand.nearest import no_such
from leitstand.store.database import Connection, Database, load_queries

log = structlog.get_logger(__name__)
queries = load_queries(__file__)


class WindowLedger:
    """Windows by name. A change holds for what is due from then on, and for what waits already."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, spec: WindowSpec, *, managed: bool = False) -> Window:
        """Create or replace the window of that name; occurrences that wait are looked at again.

        Runs that are queued or running stay as they are. A server that is claiming at this very
        moment goes by the windows before, and is waited for.
        """
        async with self._database.transaction() as connection:
            return await self.save_in(connection, spec, managed=managed)

    async def save_in(self, connection: Connection, spec: WindowSpec, *, managed: bool) -> Window:
        """As ``save``, in the caller's transaction."""
        window = spec.window(managed=managed)
        await queries.save_window(connection, **_columns(window))
        await look_again_at_postponed(connection)
        return window

    async def list_all(self) -> list[Window]:
        """All windows, ordered by name."""
        async with self._database.connection() as connection:
            return await self.list_in(connection)

    async def list_in(self, connection: Connection) -> list[Window]:
        """As ``list_all``, in the caller's transaction.

        One that cannot be read, as after a time zone was abolished, is left out with an error.
        """
        read = [_window(row) async for row in queries.list_windows(connection)]
        return [window for window in read if window is not None]

    async def delete(self, name: str) -> None:
        """Delete the window; what waits for its end alone runs at once. Raises NotFoundError."""
        async with self._database.transaction() as connection:
            await self.delete_in(connection, name)

    async def delete_in(self, connection: Connection, name: str) -> None:
        """As ``delete``, in the caller's transaction."""
        if await queries.delete_window(connection, name=name) is None:
            names = [row["name"] async for row in queries.list_windows(connection)]
            raise no_such("window", name, names, "See `leitstand window list`.")
        await look_again_at_postponed(connection)


def _columns(window: Window) -> dict[str, Any]:
    document = window.as_dict()
    dated = isinstance(window.opening, DatedWindow)
    begin, end = document.pop("from"), document.pop("to")
    return {
        **document,
        "from_clock": None if dated else begin,
        "to_clock": None if dated else end,
        "from_moment": begin if dated else None,
        "to_moment": end if dated else None,
    }


def _window(row: Mapping[str, Any]) -> Window | None:
    try:
        spec = parse_window(_document(row))
    except WindowError as error:
        log.error("window ignored", window=row["name"], error=error.message)  # noqa: TRY400 -- the reason is enough
        return None
    return spec.window(managed=row["managed"])


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "days": row["days"],
        "from": row["from_clock"] or row["from_moment"],
        "to": row["to_clock"] or row["to_moment"],
        "timezone": row["timezone"],
        "jobs": row["jobs"],
        "tags": row["tags"],
        "hosts": row["hosts"],
        "reason": row["reason"],
    }
