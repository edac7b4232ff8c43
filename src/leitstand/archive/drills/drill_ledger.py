"""The ledger of drills: append-only; the only code that touches the table ``drills``."""

from datetime import datetime

from leitstand.archive.drills.drill import Drill, DrillKind
from leitstand.execution import storable
from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)


class DrillLedger:
    """The history of restore drills."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, drill: Drill) -> None:
        """Append a drill; what PostgreSQL cannot store of its detail is shown escaped."""
        async with self._database.connection() as connection:
            await queries.record(
                connection,
                finished_at=drill.timestamp,
                kind=drill.kind,
                source=drill.source,
                success=drill.success,
                detail=storable(drill.detail.encode("utf-8", "backslashreplace")),
                recovery_time=drill.recovery_time,
                recovery_point_age=drill.recovery_point_age,
                phases=to_jsonb(drill.phases),
                canaries=to_jsonb(drill.canaries),
            )

    async def history(
        self, kind: DrillKind | None = None, limit: int = 50, before: int | None = None
    ) -> list[Drill]:
        """Drills, newest first; ``before`` is the number that the page ends above."""
        async with self._database.connection() as connection:
            rows = queries.history(connection, kind=kind, before=before, max_rows=limit)
            return [Drill.from_row(row) async for row in rows]

    async def latest(self) -> dict[DrillKind, Drill]:
        """The newest drill of each kind that ever had one."""
        async with self._database.connection() as connection:
            drills = [Drill.from_row(row) async for row in queries.latest(connection)]
        return {drill.kind: drill for drill in drills}

    async def failure_counts(self) -> dict[DrillKind, int]:
        """How many drills of each kind have failed since the beginning of the history."""
        async with self._database.connection() as connection:
            rows = queries.failure_counts(connection)
            return {DrillKind(row["kind"]): row["failures"] async for row in rows}

    async def passed(self, kind: DrillKind) -> dict[str, datetime]:
        """When each source last passed a drill."""
        async with self._database.connection() as connection:
            rows = queries.passed(connection, kind=kind)
            return {row["source"]: row["finished_at"] async for row in rows}
