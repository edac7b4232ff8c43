"""The ledger of flags: the only code that reads and writes the table flags."""

from leitstand.flags.flag import Flag, FlagChange, check_key
from leitstand.nearest import no_such
from leitstand.store.database import Database, load_queries

CHANNEL = "leitstand_flags"
"""Where each change is told to all servers; the payload is the key."""

queries = load_queries(__file__)


class FlagLedger:
    """Flags by key: their management. Whoever asks whether one is on asks ``Flags``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def change(self, key: str, change: FlagChange) -> Flag:
        """Change the flag, or make it; all servers are told.

        Two changes at once that set different things both hold. Raises FlagKeyError,
        FlagRolloutError and FlagTargetError.
        """
        check_key(key)
        change.check()
        targets = change.target_tenants
        async with self._database.connection() as connection:
            row = await queries.change(
                connection,
                key=key,
                enabled=change.enabled,
                rollout_percentage=change.rollout_percentage,
                target_tenants=None if targets is None else sorted(targets),
                channel=CHANNEL,
            )
        return Flag.from_row(row)

    async def delete(self, key: str) -> None:
        """Delete the flag, which is then off for all; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.delete(connection, key=key, channel=CHANNEL)
        if row is None:
            names = [flag.key for flag in await self.list_all()]
            raise no_such("flag", key, names, "See `leitstand flag list`.")

    async def list_all(self, deadline: float | None = None) -> list[Flag]:
        """All flags by key, within ``deadline`` seconds."""
        async with self._database.connection(deadline) as connection:
            return [Flag.from_row(row) async for row in queries.list_flags(connection)]
