"""Reads and writes rows of the Statusengine tables, many at a time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

import structlog
from sqlalchemy import Delete, Select, Table, and_, bindparam, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import ColumnElement

from leitstand.downtimes.downtime import Downtime, EventType, Key, Kind
from leitstand.downtimes.layout import Layout
from leitstand.downtimes.tables import (
    HISTORY,
    HISTORY_DYNAMIC,
    KEY_COLUMNS,
    OPTIONAL,
    SCHEDULED,
    SCHEDULED_DYNAMIC,
)
from leitstand.downtimes.transition import STEPS, Facts, Stamp, Write, newest
from leitstand.downtimes.upsert import upsert

log = structlog.get_logger(__name__)

KEYS_AT_ONCE = 50
"""Keys of one statement; always so many, the last repeated, so that it is compiled once."""


@dataclass(slots=True)
class RowChange:
    """What a batch of events does to one row: remove what is there, write it, or both in order.

    ``source`` is the first event's downtime that wrote it: the fixed columns are the insert's.
    """

    delete: bool = False
    source: Downtime | None = None

    def note(self, write: Write | None, downtime: Downtime) -> None:
        """Add the next event's part."""
        if write is Write.DELETE:
            self.delete, self.source = True, None
        elif write is Write.UPSERT and self.source is None:
            self.source = downtime


@dataclass(slots=True)
class Change:
    """What a batch does to one downtime; ``facts`` are those after it."""

    key: Key
    facts: Facts
    scheduled: RowChange = field(default_factory=RowChange)
    history: RowChange = field(default_factory=RowChange)


class Rows:
    """The four tables, as ``layout`` says they are."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def key(self, downtime: Downtime, node_name: str) -> Key:
        """The key under which the tables can hold the downtime."""
        key = downtime.key(node_name)
        if key.hostname.isascii() and key.service_description.isascii():
            return key
        names: dict[str, Any] = {
            "hostname": key.hostname,
            "service_description": key.service_description,
        }
        self._layout.fitted(HISTORY[key.kind], names)
        return key._replace(**names)

    async def facts_of(
        self, connection: AsyncConnection, keys: Sequence[Key]
    ) -> Iterator[tuple[Key, Facts]]:
        """What the rows themselves say of these downtimes: somebody else may have written them.

        The keys that are returned are those of the rows, whose case can differ.
        """
        found: dict[Key, dict[str, Any]] = {}
        for kind, of_kind in by_kind(keys):
            for tables in (SCHEDULED, HISTORY):
                for row in await self._select(connection, tables[kind], kind, of_kind):
                    found.setdefault(key_of(kind, row), {}).update(row)
        return ((key, _facts(row)) for key, row in found.items())

    async def _select(
        self, connection: AsyncConnection, table: Table, kind: Kind, keys: Sequence[Key]
    ) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = []
        query = _selection(table, kind, self._layout.has_usec[table.name])
        for parameters in _chunks(keys):
            found = await connection.execute(query, parameters)
            rows += [dict(row) for row in found.mappings()]
        return rows

    async def write(self, connection: AsyncConnection, changes: Sequence[Change]) -> None:
        """Bring the rows of these downtimes up to date."""
        for kind in Kind:
            of_kind = [change for change in changes if change.key.kind is kind]
            removed = [c.key for c in of_kind if c.scheduled.delete]
            await self.delete(connection, SCHEDULED[kind], kind, removed)
            removed = [c.key for c in of_kind if c.history.delete]
            await self.delete(connection, HISTORY[kind], kind, removed)
            await self._upsert_scheduled(connection, kind, of_kind)
            await self._upsert_history(connection, kind, of_kind)

    async def delete(
        self, connection: AsyncConnection, table: Table, kind: Kind, keys: Sequence[Key]
    ) -> None:
        """Delete the rows of these keys, which need not be there."""
        for parameters in _chunks(keys):
            await connection.execute(_deletion(table, kind), parameters)

    async def _upsert_scheduled(
        self, connection: AsyncConnection, kind: Kind, changes: Iterable[Change]
    ) -> None:
        rows = [
            {**_fixed(change.key, source), **_started(change.facts)}
            for change in changes
            if (source := change.scheduled.source) is not None
        ]
        await self._upsert(connection, SCHEDULED[kind], SCHEDULED_DYNAMIC, rows)

    async def _upsert_history(
        self, connection: AsyncConnection, kind: Kind, changes: Iterable[Change]
    ) -> None:
        has_usec = self._layout.has_usec[HISTORY[kind].name]
        rows = [
            {
                **_fixed(change.key, source),
                **_started(change.facts),
                **_ended(change.facts),
                **(_entry_usec(change.facts) if has_usec else {}),
            }
            for change in changes
            if (source := change.history.source) is not None
        ]
        await self._upsert(connection, HISTORY[kind], HISTORY_DYNAMIC, rows)

    async def _upsert(
        self,
        connection: AsyncConnection,
        table: Table,
        dynamic: tuple[str, ...],
        rows: list[dict[str, Any]],
    ) -> None:
        if not rows:
            return
        for row in rows:
            changed = self._layout.fitted(table, row)
            if changed:
                _tell_of_change(table, row, changed)
        statement = upsert(connection.dialect.name, table, tuple(rows[0]), dynamic)
        await connection.execute(statement, rows)


def by_kind(keys: Iterable[Key]) -> Iterator[tuple[Kind, list[Key]]]:
    """The keys of hosts and those of services, where there are any."""
    listed = list(keys)
    for kind in Kind:
        of_kind = [key for key in listed if key.kind is kind]
        if of_kind:
            yield kind, of_kind


def key_of(kind: Kind, row: Mapping[str, Any]) -> Key:
    """The key of a row."""
    return Key(
        kind,
        row["hostname"],
        row.get("service_description") or "",
        row["node_name"],
        row["scheduled_start_time"],
        row["internal_downtime_id"],
    )


def _fixed(key: Key, source: Downtime) -> dict[str, Any]:
    """The columns that are written once."""
    row = {
        "entry_time": source.entry_time,
        "author_name": source.author_name,
        "comment_data": source.comment_data,
        "triggered_by_id": source.triggered_by,
        "is_fixed": int(source.fixed),
        "duration": source.duration,
        "scheduled_end_time": source.end_time,
    }
    row.update((name, getattr(key, name)) for name in KEY_COLUMNS[key.kind])
    return row


def _started(facts: Facts) -> dict[str, int]:
    return {
        "was_started": int(facts.started is not None),
        "actual_start_time": facts.started or 0,
    }


def _ended(facts: Facts) -> dict[str, int]:
    return {
        "actual_end_time": 0 if facts.stopped is None else facts.stopped.seconds,
        "was_cancelled": int(facts.cancelled),
    }


def _entry_usec(facts: Facts) -> dict[str, int]:
    return {OPTIONAL: 0 if facts.added is None else facts.added.usec}


def _facts(row: Mapping[str, Any]) -> Facts:
    """What rows say that somebody else wrote; the microseconds of most events are not in them."""
    added = Stamp(row["entry_time"], row.get(OPTIONAL) or 0, STEPS[EventType.ADD])
    started = row["actual_start_time"] if row["was_started"] else None
    last_start = None if started is None else Stamp(started, 0, STEPS[EventType.START])
    ended = row.get("actual_end_time")
    stopped = Stamp(ended, 0, STEPS[EventType.STOP]) if ended else None
    return Facts(
        last=newest(newest(added, last_start), stopped),
        added=added,
        started=started,
        last_start=last_start,
        stopped=stopped,
        cancelled=bool(row.get("was_cancelled")),
        in_history="actual_end_time" in row,
    )


def _tell_of_change(table: Table, row: Mapping[str, Any], changed: Sequence[str]) -> None:
    log.warning(
        "text changed to fit the table",
        table=table.name,
        columns=changed,
        host=row["hostname"],
        downtime=row["internal_downtime_id"],
    )


@cache
def _selection(table: Table, kind: Kind, has_usec: bool) -> Select[Any]:
    wanted = [c for c in table.columns if c.name != OPTIONAL or has_usec]
    return select(*wanted).where(_any_of_the_keys(table, kind))


@cache
def _deletion(table: Table, kind: Kind) -> Delete:
    return delete(table).where(_any_of_the_keys(table, kind))


def _any_of_the_keys(table: Table, kind: Kind) -> ColumnElement[bool]:
    # Alternatives of whole keys are looked up one by one in the primary key by MariaDB, while
    # a list of tuples makes it read the table.
    return or_(
        *(
            and_(*(table.c[name] == bindparam(f"{name}_{n}") for name in KEY_COLUMNS[kind]))
            for n in range(KEYS_AT_ONCE)
        )
    )


def _chunks(keys: Sequence[Key]) -> Iterator[dict[str, Any]]:
    """Parameters for ``_any_of_the_keys``, as often as it takes."""
    remaining = iter(keys)
    while chunk := list(islice(remaining, KEYS_AT_ONCE)):
        chunk += [chunk[-1]] * (KEYS_AT_ONCE - len(chunk))
        yield {
            f"{name}_{n}": getattr(key, name)
            for n, key in enumerate(chunk)
            for name in KEY_COLUMNS[key.kind]
        }
