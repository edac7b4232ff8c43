"""The ledger of silences: the only code that reads and writes the table alert_silences."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from leitstand.alerts.silence import Silence, SilenceSpec
from leitstand.errors import NotFoundError, UsageError
from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

LONGEST = 366 * 86400.0
"""Seconds; who never wants to be told disables the rule."""

FARTHEST = 100 * LONGEST
"""Seconds from now, either way, within which a silence may begin."""


class SilenceLedger:
    """Silences; those that are over stay as history."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        what: SilenceSpec,
        seconds: float,
        *,
        reason: str = "",
        created_by: str = "",
        starts_at: datetime | None = None,
    ) -> Silence:
        """Silence these alerts for so many seconds.

        Raises UsageError for a silence of all, and for one that lasts for ever or begins some day.
        """
        check_silence(what)
        _check_time(seconds, starts_at)
        async with self._database.connection() as connection:
            row = await queries.add_silence(
                connection,
                rule=what.rule,
                matchers=to_jsonb(dict(what.matchers)),
                starts_at=starts_at,
                seconds=seconds,
                reason=reason,
                created_by=created_by,
                weekly=None if what.weekly is None else to_jsonb(what.weekly.as_dict()),
            )
        return Silence.from_row(row)

    async def list_all(self, *, ended: bool = False) -> list[Silence]:
        """Silences that hold or will hold, on request also those that are over."""
        async with self._database.connection() as connection:
            rows = queries.list_silences(connection, ended=ended)
            return [Silence.from_row(row) async for row in rows]

    async def list_page(
        self, *, ended: bool = False, before: int | None = None, limit: int = 50
    ) -> list[Silence]:
        """As ``list_all``, the latest made first; ``before`` is the id that the page ends above."""
        async with self._database.connection() as connection:
            rows = queries.page_of_silences(connection, ended=ended, before=before, max_rows=limit)
            return [Silence.from_row(row) async for row in rows]

    async def get(self, silence_id: int) -> Silence:
        """The silence, also one that is over; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.get_silence(connection, id=silence_id)
        return Silence.from_row(_found(row, silence_id))

    async def end(self, silence_id: int) -> Silence:
        """End a silence now; raises NotFoundError when none of that id holds or will hold."""
        async with self._database.connection() as connection:
            row = await queries.end_silence(connection, id=silence_id)
        return Silence.from_row(_found(row, silence_id))


def _check_time(seconds: float, starts_at: datetime | None) -> None:
    if not 0 < seconds <= LONGEST:
        raise UsageError("a silence lasts for some time, and at most a year")
    if starts_at and abs((starts_at - datetime.now(UTC)).total_seconds()) > FARTHEST:
        raise UsageError("a silence begins within a hundred years from now")


def _found(row: Mapping[str, Any] | None, silence_id: int) -> Mapping[str, Any]:
    if row is None:
        raise NotFoundError(
            f"there is no silence {silence_id}", remedy="See `leitstand alert silences`."
        )
    return row


def check_silence(what: SilenceSpec) -> None:
    """Raise UsageError for a silence of everything."""
    if what.rule is None and not what.matchers:
        raise UsageError(
            "a silence needs a rule or labels",
            remedy="To be told nothing at all, disable the job evaluate-alerts.",
        )
