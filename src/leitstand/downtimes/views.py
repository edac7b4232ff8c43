"""Answers questions about downtimes from the tables: what is scheduled, what runs, what was."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import Key, Kind, State, expected_end
from leitstand.downtimes.ledger import Ledger
from leitstand.downtimes.moments import moment_of
from leitstand.downtimes.pages import Place, Wanted, beyond, page_query
from leitstand.downtimes.rows import key_of
from leitstand.downtimes.tables import HISTORY, OPTIONAL, SCHEDULED
from leitstand.downtimes.target import Opened, Target
from leitstand.downtimes.transition import Facts

TIMES = (
    "entry_time",
    "scheduled_start_time",
    "scheduled_end_time",
    "actual_start_time",
    "actual_end_time",
)
FLAGS = ("is_fixed", "was_started", "was_cancelled")


@dataclass(frozen=True)
class Shown:
    """A row of a table, and what it means at the moment it was asked for."""

    kind: Kind
    row: Mapping[str, Any]
    state: State
    facts: Facts

    @property
    def until(self) -> datetime | None:
        """When it ends, or would have ended, by itself."""
        return moment_of(expected_end(self.row))

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape: the columns, and beside them kind, state and the end that is expected."""
        shown = {n: _shown(n, value) for n, value in self.row.items() if n != OPTIONAL}
        closed_at = self.facts.reaped_at or (self.facts.deleted and self.facts.deleted.seconds)
        return {
            "kind": self.kind.value,
            "service_description": None,
            **shown,
            "state": self.state.value,
            "until": self.until,
            "closed_at": moment_of(closed_at or 0),
        }


@dataclass(frozen=True)
class Status:
    """Whether a host, or a service on it, is in downtime now."""

    host: str
    service: str | None
    downtimes: Sequence[Shown]

    @property
    def in_downtime(self) -> bool:
        """Whether any is running."""
        return bool(self.downtimes)

    @property
    def until(self) -> datetime | None:
        """When the last of those that run now ends by itself."""
        return max((d.until for d in self.downtimes if d.until is not None), default=None)

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        return {
            "host": self.host,
            "service": self.service,
            "in_downtime": self.in_downtime,
            "until": self.until,
            "downtimes": [downtime.as_dict() for downtime in self.downtimes],
        }


class Views:
    """Reads the tables; ``now`` is Unix seconds throughout."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def scheduled(
        self, now: float, host: str | None = None, service: str | None = None
    ) -> list[Shown]:
        """What the core has not dropped yet, by start; those of a host with its services'."""
        return await self._read(SCHEDULED, now, host, service, limit=None)

    async def history(
        self, now: float, host: str | None = None, service: str | None = None, limit: int = 1000
    ) -> list[Shown]:
        """What happened, the newest first; at most ``limit`` of hosts and as many of services."""
        shown = await self._read(HISTORY, now, host, service, limit)
        return sorted(shown, key=lambda one: one.row["scheduled_start_time"], reverse=True)

    async def scheduled_page(
        self, now: float, wanted: Wanted, cursor: str | None, limit: int
    ) -> tuple[list[Shown], str | None]:
        """Up to ``limit`` of what ``scheduled`` shows, and the cursor of what follows.

        Raises UsageError for a cursor that is none.
        """
        return await self._page(SCHEDULED, now, wanted, Place.of_cursor(cursor), limit)

    async def history_page(
        self, now: float, wanted: Wanted, cursor: str | None, limit: int
    ) -> tuple[list[Shown], str | None]:
        """The same of what ``history`` shows."""
        return await self._page(HISTORY, now, wanted, Place.of_cursor(cursor), limit)

    async def between(
        self, now: float, host: str, begin: float, end: float, limit: int = 500
    ) -> list[Shown]:
        """What of a host and its services lies between two times, at most ``limit``, by start.

        From the history, and what is only among the scheduled since its ADD was lost.
        """
        wanted = Wanted(host=host, begin=begin, end=end)
        found: dict[Key, Shown] = {}
        for tables in (SCHEDULED, HISTORY):
            shown, _ = await self._page(tables, now, wanted, Place(), limit)
            found |= {key_of(one.kind, one.row): one for one in shown}
        return sorted(found.values(), key=lambda one: one.row["scheduled_start_time"])

    async def status(self, now: float, host: str, service: str | None = None) -> Status:
        """The running downtimes of the host itself, or of one service on it.

        A downtime whose end has passed does not count, even if nobody has closed it yet.
        """
        kind = Kind.HOST if service is None else Kind.SERVICE
        tables = {kind: SCHEDULED[kind]}
        shown = await self._read(tables, now, host, service, limit=None)
        running = [one for one in shown if one.state is State.RUNNING]
        return Status(host, service, running)

    async def running(self, now: float, hosts: Collection[str]) -> list[Shown]:
        """What runs of these hosts and of their services."""
        opened = await self._target.prepare()
        found: list[Shown] = []
        async with self._target.transaction() as connection:
            for kind, table in SCHEDULED.items():
                query = select(table).where(table.c.hostname.in_(sorted(hosts)))
                rows = [dict(row) for row in (await connection.execute(query)).mappings()]
                found += await _shown_rows(connection, opened, kind, rows, now)
        return [one for one in found if one.state is State.RUNNING]

    async def of_hosts(self, hosts: Collection[str]) -> list[Mapping[str, Any]]:
        """The rows of scheduled downtimes of these hosts, not of their services."""
        table = SCHEDULED[Kind.HOST]
        await self._target.prepare()
        async with self._target.transaction() as connection:
            query = select(table).where(table.c.hostname.in_(sorted(hosts)))
            return [dict(row) for row in (await connection.execute(query)).mappings()]

    async def _page(
        self, tables: Mapping[Kind, Table], now: float, wanted: Wanted, place: Place, limit: int
    ) -> tuple[list[Shown], str | None]:
        opened = await self._target.prepare()
        newest_first = tables is HISTORY
        found: list[Shown] = []
        async with self._target.transaction() as connection:
            for kind in wanted.kinds:
                table = tables[kind]
                conditions = wanted.conditions(table, now)
                conditions += beyond(table, kind, place, newest_first)
                has_usec = opened.layout.has_usec[table.name]
                query = page_query(table, conditions, has_usec, newest_first).limit(limit + 1)
                rows = [dict(row) for row in (await connection.execute(query)).mappings()]
                found += await _shown_rows(connection, opened, kind, rows, now)
        sign = -1 if newest_first else 1
        found.sort(key=lambda one: sign * one.row["scheduled_start_time"])
        shown = found[:limit]
        behind = place.moved((one.kind, one.row) for one in shown)
        return shown, behind.as_cursor() if len(found) > limit else None

    async def _read(
        self,
        tables: Mapping[Kind, Table],
        now: float,
        host: str | None,
        service: str | None,
        limit: int | None,
    ) -> list[Shown]:
        opened = await self._target.prepare()
        found: list[Shown] = []
        async with self._target.transaction() as connection:
            for kind, table in tables.items():
                if service is not None and kind is Kind.HOST:
                    continue
                query = _query(table, opened.layout.has_usec[table.name], host, service, limit)
                rows = [dict(row) for row in (await connection.execute(query)).mappings()]
                found += await _shown_rows(connection, opened, kind, rows, now)
        return found


async def _shown_rows(
    connection: AsyncConnection,
    opened: Opened,
    kind: Kind,
    rows: Sequence[Mapping[str, Any]],
    now: float,
) -> list[Shown]:
    digests = [opened.ledger.digest(key_of(kind, row)) for row in rows]
    known = await _facts(connection, opened.ledger, digests)
    shown = []
    for digest, row in zip(digests, rows, strict=True):
        facts = known.get(digest, Facts())
        state = _ended_state(row, facts, now) if "actual_end_time" in row else _open_state(row, now)
        shown.append(Shown(kind, row, state, facts))
    return shown


async def _facts(
    connection: AsyncConnection, ledger: Ledger, digests: Sequence[bytes]
) -> dict[bytes, Facts]:
    known: dict[bytes, Facts] = {}
    for begin in range(0, len(digests), 500):
        known |= await ledger.read(connection, digests[begin : begin + 500])
    return known


def _query(
    table: Table, has_usec: bool, host: str | None, service: str | None, limit: int | None
) -> Select[Any]:
    columns = [c for c in table.columns if c.name != OPTIONAL or has_usec]
    query = select(*columns)
    if host is not None:
        query = query.where(table.c.hostname == host)
    if service is not None:
        query = query.where(table.c.service_description == service)
    start = table.c.scheduled_start_time
    if limit is None:
        return query.order_by(start, table.c.internal_downtime_id)
    return query.order_by(start.desc(), table.c.internal_downtime_id.desc()).limit(limit)


def _open_state(row: Mapping[str, Any], now: float) -> State:
    if expected_end(row) <= now:
        return State.OVERDUE
    return State.RUNNING if row["was_started"] else State.SCHEDULED


def _ended_state(row: Mapping[str, Any], facts: Facts, now: float) -> State:
    """What became of a row of the history."""
    if facts.reaped_at is not None:
        return State.REAPED
    if row["actual_end_time"]:
        return State.CANCELLED if row["was_cancelled"] else State.ENDED
    if facts.never_started:
        return State.NEVER_STARTED
    return State.ENDED if facts.deleted is not None else _open_state(row, now)


def _shown(name: str, value: Any) -> Any:  # noqa: ANN401 -- a column's value
    if name in TIMES:
        return moment_of(value)
    return bool(value) if name in FLAGS else value
