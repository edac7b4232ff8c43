"""The ledger of what reconciling and scrubbing found: append-only, for metrics and history.

The only code that touches the table ``integrity_reports``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.scrubbing import Scrubbing
from leitstand.store.database import Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

RECONCILE = "reconcile"
SCRUB = "scrub"

FIRST = 50
"""Findings of each sort that a report keeps."""


@dataclass(frozen=True)
class IntegrityReport:
    """The newest report of a kind on a store; ``facts`` are the result's summary."""

    store: str
    finished_at: datetime
    clean: bool
    incomplete: bool
    facts: Mapping[str, Any]


class ReportLedger:
    """The history of reconciliations and scrubs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record_reconciliation(self, result: Reconciliation) -> None:
        """Append a reconciliation, with the first of its findings under ``first``."""
        first = {
            each.name: [revision.as_dict() for revision in each.first[:FIRST]]
            for each in (result.missing, result.orphaned)
        }
        facts = {**result.summary(), "first": first}
        await self._record(RECONCILE, result.store, result.is_clean, result.is_incomplete, facts)

    async def record_scrubbing(self, result: Scrubbing) -> None:
        """Append a scrub."""
        await self._record(SCRUB, result.store, result.is_clean, False, result.summary())

    async def _record(
        self, kind: str, store: str, clean: bool, incomplete: bool, facts: Mapping[str, Any]
    ) -> None:
        async with self._database.connection() as connection:
            await queries.record(
                connection,
                kind=kind,
                store=store,
                clean=clean,
                incomplete=incomplete,
                facts=to_jsonb(facts),
            )

    async def latest(self, kind: str) -> list[IntegrityReport]:
        """The newest report of each store, RECONCILE or SCRUB."""
        async with self._database.connection() as connection:
            return [
                IntegrityReport(
                    row["store"], row["finished_at"], row["clean"], row["incomplete"], row["facts"]
                )
                async for row in queries.latest(connection, kind=kind)
            ]

    async def remove(self, store: str) -> None:
        """Forget all reports on a store."""
        async with self._database.connection() as connection:
            await queries.remove(connection, store=store)
