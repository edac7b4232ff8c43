"""The ledger of alerts: the only code that reads and writes the table alerts."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import tuple_row

from leitstand.alerts.alert import PHASES, Alert, AlertFilter, AlertState, Known, Phase
from leitstand.alerts.silence import SilenceSpec
from leitstand.errors import NotFoundError
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import json_text, to_jsonb

queries = load_queries(__file__)

SEE = "See `leitstand alert active`."

AlertKey = tuple[int, str]
"""Rule id and fingerprint."""


@dataclass(frozen=True)
class Decision:
    """The state that a series should have from now on; made on ``version`` of the state before."""

    rule_id: int
    fingerprint: str
    labels: Mapping[str, str]
    value: float | None
    version: int
    state: AlertState

    @property
    def key(self) -> AlertKey:
        """Whose state it is."""
        return self.rule_id, self.fingerprint

    def as_document(self) -> dict[str, Any]:
        """The JSON form that ``advance`` reads."""
        value, state = self.value, self.state
        return {
            "phase": state.phase,
            "since": _text(state.since),
            "told_at": _text(state.told_at),
            "told": [str(message_id) for message_id in state.told],
            "missing_since": _text(state.missing_since),
            "acknowledged_at": _text(state.acknowledged_at),
            "acknowledged_by": state.acknowledged_by,
            "rule_id": self.rule_id,
            "fingerprint": self.fingerprint,
            "labels": dict(self.labels),
            # JSON has no infinity, PostgreSQL reads it from text.
            "value": value if value is None or math.isfinite(value) else str(value),
            "version": self.version + 1,
        }


def _text(moment: datetime | None) -> str | None:
    """Written here: for tens of thousands the encoder's way to a type it does not know is long."""
    return moment.isoformat() if moment else None


class AlertLedger:
    """What is known of each series that ever violated a rule."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        """The database's clock, which all servers share."""
        async with self._database.connection() as connection:
            row = await queries.now(connection)
        now: datetime = row["now"]
        return now

    async def of_rules(self, rules: Collection[int]) -> dict[AlertKey, Known]:
        """What is known of all series of these rules, also of those that are resolved."""
        async with self._database.connection(deadline=30) as connection:
            # Tens of thousands of rows: as tuples and in binary form they cost half.
            cursor = connection.cursor(binary=True, row_factory=tuple_row)
            await cursor.execute(queries.of_rules.sql, {"rules": list(rules)})
            rows = await cursor.fetchall()
        return {row[:2]: Known(row[2], AlertState(PHASES[row[3]], *row[4:])) for row in rows}

    async def labels_of(self, keys: Collection[AlertKey]) -> dict[AlertKey, Mapping[str, str]]:
        """The labels of these alerts."""
        if not keys:
            return {}
        rules, fingerprints = (list(column) for column in zip(*keys, strict=True))
        async with self._database.connection(deadline=30) as connection:
            rows = queries.labels_of(connection, rules=rules, fingerprints=fingerprints)
            return {(row["rule_id"], row["fingerprint"]): row["labels"] async for row in rows}

    async def advance_in(
        self, connection: Connection, decisions: Sequence[Decision]
    ) -> set[AlertKey]:
        """Write decisions in one statement, in the caller's transaction; the keys that were.

        Of several evaluators that decide about a series at once exactly one writes: the others'
        decisions were made on a state that is no more.
        """
        if not decisions:
            return set()
        documents = json_text([decision.as_document() for decision in decisions])
        rows = queries.advance(connection, decisions=documents)
        return {(row["rule_id"], row["fingerprint"]) async for row in rows}

    async def active(self) -> list[Alert]:
        """What is pending or firing."""
        async with self._database.connection() as connection:
            return [Alert.from_row(row) async for row in queries.active(connection)]

    async def covered_by(self, what: SilenceSpec) -> list[Alert]:
        """What is pending or firing that such a silence concerns."""
        return [alert for alert in await self.active() if what.covers(alert.rule, alert.labels)]

    async def list_page(
        self, wanted: AlertFilter, before: int | None = None, limit: int = 50
    ) -> list[Alert]:
        """Alerts with the highest ids first; ``before`` is the id that the page ends above.

        What was resolved is there until it is pruned.
        """
        async with self._database.connection() as connection:
            rows = queries.list_page(
                connection,
                phases=[phase.value for phase in wanted.phases],
                rule=wanted.rule,
                labels=to_jsonb(dict(wanted.labels)),
                before=before,
                max_rows=limit,
            )
            return [Alert.from_row(row) async for row in rows]

    async def get(self, alert_id: int) -> Alert:
        """The alert; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.get(connection, id=alert_id)
        if row is None:
            raise NotFoundError(f"there is no alert {alert_id}", remedy=SEE)
        return Alert.from_row(row)

    async def acknowledge(self, alert_id: int, who: str) -> None:
        """Have nobody told again that it fires, until it is over; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.acknowledge(connection, id=alert_id, who=who)
        if row is None:
            raise NotFoundError(f"no alert {alert_id} is firing", remedy=SEE)

    async def counts(self) -> dict[str, int]:
        """How many are pending and firing."""
        async with self._database.connection() as connection:
            found = {row["phase"]: row["alerts"] async for row in queries.counts(connection)}
        return {Phase.PENDING.value: 0, Phase.FIRING.value: 0, **found}

    async def prune(self, older_than: float, batch: int = 1000) -> int:
        """Delete one batch of what was resolved more than ``older_than`` seconds ago; how many."""
        async with self._database.transaction(deadline=30) as connection:
            row = await queries.prune(connection, older_than=older_than, batch=batch)
        gone: int = row["gone"]
        return gone
