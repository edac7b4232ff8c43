"""The ledger of flags: the only code that reads and writes the tables flags and flag_history."""

from leitstand.errors import ConflictError, NotFoundError
from leitstand.flags.flag import Flag, FlagChange, FlagVersion, check_key
from leitstand.nearest import no_such
from leitstand.store.database import Database, load_queries

CHANNEL = "leitstand_flags"
"""Where each change is told to all servers; the payload is the key."""

queries = load_queries(__file__)


class FlagVersionError(ConflictError):
    """The flag is not, or no longer, in the version that the caller knows."""

    code = "FLAG_VERSION"


class FlagLedger:
    """Flags by key: their management. Whoever asks whether one is on asks ``Flags``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def change(
        self, key: str, change: FlagChange, *, changed_by: str = "", expected: int | None = None
    ) -> FlagVersion:
        """Change the flag, or make it, and note it in the history; all servers are told.

        Two changes at once that set different things both hold. If it is not the version that is
        ``expected`` (0: there is none yet) nothing is written: FlagVersionError. Raises
        FlagKeyError, FlagRolloutError and FlagTargetError.
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
                added=sorted(change.added),
                removed=sorted(change.removed),
                changed_by=changed_by,
                expected=expected,
                channel=CHANNEL,
            )
        if row is None:
            raise _not_as_expected(key)
        return FlagVersion.from_row(row)

    async def delete(self, key: str, *, changed_by: str = "", expected: int | None = None) -> None:
        """Delete the flag, which is then off for all; its history stays.

        Raises NotFoundError, and FlagVersionError as ``change``.
        """
        async with self._database.connection() as connection:
            row = await queries.delete(
                connection, key=key, changed_by=changed_by, expected=expected, channel=CHANNEL
            )
        if row is None:
            await self.find(key)
            raise _not_as_expected(key)

    async def list_all(self, deadline: float | None = None) -> list[Flag]:
        """All flags by key, within ``deadline`` seconds."""
        return [each.flag for each in await self.list_versions(deadline)]

    async def list_versions(self, deadline: float | None = None) -> list[FlagVersion]:
        """As ``list_all``, with the version that each is in."""
        async with self._database.connection(deadline) as connection:
            return [FlagVersion.from_row(row) async for row in queries.list_flags(connection)]

    async def find(self, key: str) -> FlagVersion:
        """The flag in its current version; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.find(connection, key=key)
        if row is None:
            raise await self._unknown(key)
        return FlagVersion.from_row(row)

    async def history(
        self, key: str, before: int | None = None, limit: int = 50
    ) -> list[FlagVersion]:
        """Versions of the flag, newest first; ``before`` is the one that the page ends above.

        Raises NotFoundError for a key that no flag has ever had.
        """
        async with self._database.connection() as connection:
            rows = queries.history(connection, key=key, before=before, max_rows=limit)
            found = [FlagVersion.from_row(row) async for row in rows]
        if not found and before is None:
            raise await self._unknown(key)
        return found

    async def _unknown(self, key: str) -> NotFoundError:
        names = [flag.key for flag in await self.list_all()]
        return no_such("flag", key, names, "See `leitstand flag list`.")


def _not_as_expected(key: str) -> FlagVersionError:
    return FlagVersionError(
        f"the flag {key} is not what was expected",
        remedy="Read it again: somebody else has changed it.",
    )
