"""The ledger of self-tests: append-only; the only code that touches the table ``selftests``."""

from leitstand.archive.checker.selftest import Selftest
from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)


class SelftestLedger:
    """The history of self-tests of the checker."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, selftest: Selftest) -> None:
        """Append a self-test."""
        async with self._database.connection() as connection:
            await queries.record(
                connection,
                finished_at=selftest.timestamp,
                stage=selftest.stage,
                seed=selftest.seed,
                planted=to_jsonb([dict(vars(planted)) for planted in selftest.planted]),
                planted_count=len(selftest.planted),
                missed_count=len(selftest.missed),
            )

    async def history(self, limit: int = 50) -> list[Selftest]:
        """Self-tests, newest first."""
        async with self._database.connection() as connection:
            rows = queries.history(connection, max_rows=limit)
            return [Selftest.from_row(row) async for row in rows]

    async def missed(self) -> int:
        """How many planted damages were not found since the beginning of the history."""
        async with self._database.connection() as connection:
            row = await queries.missed(connection)
        return int(row["missed"])
