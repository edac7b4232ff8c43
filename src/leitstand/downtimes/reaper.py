"""Closes downtimes whose end has passed without a word from the core."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from sqlalchemy import Table, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import Key, Kind, expected_end
from leitstand.downtimes.rows import key_of
from leitstand.downtimes.tables import HISTORY, KEY_COLUMNS, SCHEDULED
from leitstand.downtimes.target import Opened, Target
from leitstand.downtimes.transition import Facts
from leitstand.errors import LeitstandError

log = structlog.get_logger(__name__)

EVERY = 60.0
"""Seconds between two passes."""

AT_ONCE = 500
"""Rows of one pass, at most, of hosts and of services."""

FORGET_AFTER = 400 * 86400
"""Seconds after which the ledger forgets what ended: nothing of it is delivered again by then."""


@dataclass(frozen=True)
class Reaped:
    """A downtime that was closed, and when it should have ended, in Unix seconds."""

    key: Key
    ended: int


class Reaper:
    """Closes what is overdue by more than ``grace`` seconds: the scheduled row goes, the history
    row gets the expected end, the ledger remembers that this was a guess.

    A message that comes later after all outweighs the guess. Several reapers take turns.
    """

    def __init__(self, target: Target, grace: float) -> None:
        self._target = target
        self._grace = grace

    async def run(self) -> None:
        """A pass every minute, until cancelled."""
        while True:
            try:
                await self.run_once(time.time())
            except LeitstandError as error:
                log.warning("overdue downtimes stay", error=error.message, detail=error.detail)
            await asyncio.sleep(EVERY)

    async def run_once(self, now: float) -> list[Reaped]:
        """One pass at ``now``; what was closed. Raises what ``Target.transaction`` raises."""
        opened = await self._target.prepare()
        reaped: list[Reaped] = []
        async with self._target.transaction() as connection:
            await opened.ledger.take_turn(connection)
            for kind in Kind:
                overdue = await self._overdue(connection, SCHEDULED[kind], now)
                reaped += await _close(connection, opened, kind, overdue, int(now))
            await opened.ledger.forget_before(connection, int(now) - FORGET_AFTER)
        for one in reaped:
            log.warning(
                "downtime closed: the core did not say that it ended",
                host=one.key.hostname,
                service=one.key.service_description or None,
                downtime=one.key.internal_downtime_id,
            )
        return reaped

    async def _overdue(
        self, connection: AsyncConnection, table: Table, now: float
    ) -> list[dict[str, Any]]:
        flexible = and_(table.c.is_fixed == 0, table.c.was_started == 1)
        before = int(now - self._grace)
        query = select(table).where(or_(table.c.scheduled_end_time < before, flexible))
        found = await connection.execute(query.order_by(table.c.scheduled_end_time))
        rows = [dict(row) for row in found.mappings()]
        return [row for row in rows if expected_end(row) < before][:AT_ONCE]


async def _close(
    connection: AsyncConnection,
    opened: Opened,
    kind: Kind,
    rows: Sequence[Mapping[str, Any]],
    now: int,
) -> list[Reaped]:
    if not rows:
        return []
    reaped = [Reaped(key_of(kind, row), expected_end(row)) for row in rows]
    keys = [one.key for one in reaped]
    facts = await _known(connection, opened, keys)
    await opened.rows.delete(connection, SCHEDULED[kind], kind, keys)
    for one in reaped:
        await _end_history(connection, one)
    await opened.ledger.write(
        connection,
        {
            digest: (key, replace(facts.get(digest, Facts()), reaped_at=now))
            for key in keys
            for digest in (opened.ledger.digest(key),)
        },
    )
    return reaped


async def _known(
    connection: AsyncConnection, opened: Opened, keys: Sequence[Key]
) -> dict[bytes, Facts]:
    """What the ledger knows, and of the others what the rows say."""
    known = await opened.ledger.read(connection, [opened.ledger.digest(key) for key in keys])
    for key, facts in await opened.rows.facts_of(connection, keys):
        known.setdefault(opened.ledger.digest(key), facts)
    return known


async def _end_history(connection: AsyncConnection, reaped: Reaped) -> None:
    table = HISTORY[reaped.key.kind]
    of_key = [table.c[name] == getattr(reaped.key, name) for name in KEY_COLUMNS[reaped.key.kind]]
    await connection.execute(
        update(table)
        .where(*of_key, table.c.actual_end_time == 0)
        .values(actual_end_time=reaped.ended)
    )
