"""Closes downtimes whose end has passed without a word from the core."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from sqlalchemy import Table, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import Key, Kind, expected_end
from leitstand.downtimes.news import Happened, add_news, happened_to_row
from leitstand.downtimes.rows import key_of
from leitstand.downtimes.tables import HISTORY, KEY_COLUMNS, SCHEDULED
from leitstand.downtimes.target import Opened, Target
from leitstand.downtimes.transition import Facts, Happening
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
    """A downtime that was closed, by its scheduled row; and when it should have ended."""

    key: Key
    row: Mapping[str, Any]

    @property
    def ended(self) -> int:
        """In Unix seconds."""
        return expected_end(self.row)

    @property
    def happening(self) -> Happening:
        """What that was: of a flexible one without a START nobody says that it ever ran."""
        never_ran = not (self.row["was_started"] or self.row["is_fixed"])
        return Happening.REMOVED if never_ran else Happening.ENDED


class Reaper:
    """Closes what is overdue by more than ``grace`` seconds: the scheduled row goes, the history
    row gets the expected end, the ledger remembers that this was a guess.

    A message that comes later after all outweighs the guess. Several reapers take turns. With
    ``leaves_news`` what was closed is put into the outbox for a herald, as the applier does.
    """

    def __init__(self, target: Target, grace: float, *, leaves_news: bool = False) -> None:
        self._target = target
        self._grace = grace
        self._leaves_news = leaves_news

    async def run(self, is_behind: Callable[[], bool]) -> None:
        """A pass every minute, until cancelled; none while ``is_behind``: the word may yet come.

        Nor at the start, when the queue may hold what happened meanwhile.
        """
        while True:
            await asyncio.sleep(EVERY)
            if is_behind():
                continue
            try:
                await self.run_once(time.time())
            except LeitstandError as error:
                log.warning("overdue downtimes stay", error=error.message, detail=error.detail)

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
            if self._leaves_news:
                await add_news(connection, [_news(opened, one) for one in reaped])
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
    reaped = [Reaped(key_of(kind, row), row) for row in rows]
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


def _news(opened: Opened, reaped: Reaped) -> Happened:
    return happened_to_row(
        reaped.key, reaped.row, reaped.happening, reaped.ended, opened.ledger.digest(reaped.key)
    )


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
