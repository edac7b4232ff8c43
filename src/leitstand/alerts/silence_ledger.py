"""The ledger of silences: the only code that reads and writes the table alert_silences."""

from datetime import datetime

from leitstand.alerts.silence import Silence, SilenceSpec
from leitstand.errors import NotFoundError, UsageError
from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)


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
        """Silence these alerts for so many seconds; raises UsageError for a silence of all."""
        check_silence(what)
        if seconds <= 0:
            raise UsageError("a silence lasts longer than no time")
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

    async def end(self, silence_id: int) -> None:
        """End a silence now; raises NotFoundError when none of that id holds or will hold."""
        async with self._database.connection() as connection:
            row = await queries.end_silence(connection, id=silence_id)
        if row is None:
            raise NotFoundError(
                f"there is no silence {silence_id}", remedy="See `leitstand alert silences`."
            )


def check_silence(what: SilenceSpec) -> None:
    """Raise UsageError for a silence of everything."""
    if what.rule is None and not what.matchers:
        raise UsageError(
            "a silence needs a rule or labels",
            remedy="To be told nothing at all, disable the job evaluate-alerts.",
        )
