"""Lists of downtimes page by page: which are wanted, in what order, and where a page goes on."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any, Self

from sqlalchemy import Column, Select, Table, and_, case, or_, select
from sqlalchemy.sql import ColumnElement

from leitstand.downtimes.downtime import Kind, State
from leitstand.downtimes.tables import OPTIONAL
from leitstand.downtimes.wire_text import encodable
from leitstand.errors import UsageError

ORDER = (
    "scheduled_start_time",
    "internal_downtime_id",
    "hostname",
    "service_description",
    "node_name",
)
"""What rows are sorted by: the key, its numbers first. Names are compared by the database alone,
whose idea of their order is its own."""


@dataclass(frozen=True)
class Wanted:
    """Which downtimes somebody wants to see; None means all.

    ``state`` is one of a downtime that the core still has. ``begin`` and ``end``, Unix seconds:
    those of which a part lies between.
    """

    host: str | None = None
    service: str | None = None
    kind: Kind | None = None
    state: State | None = None
    begin: float | None = None
    end: float | None = None

    @property
    def kinds(self) -> list[Kind]:
        """The kinds that are wanted; only services have a description."""
        if self.kind is not None:
            return [self.kind]
        return [Kind.SERVICE] if self.service is not None else list(Kind)

    def conditions(self, table: Table, now: float) -> list[ColumnElement[bool]]:
        """The same for rows of a table."""
        wanted = []
        if self.host is not None:
            wanted.append(table.c.hostname == self.host)
        if self.service is not None and "service_description" in table.c:
            wanted.append(table.c.service_description == self.service)
        if self.state is not None:
            wanted.append(_is_in_state(table, self.state, int(now)))
        if self.begin is not None:
            wanted.append(_end(table) > floor(self.begin))
        if self.end is not None:
            wanted.append(_begin(table) < ceil(self.end))
        return wanted


@dataclass(frozen=True)
class Place:
    """Where a list goes on: for each kind behind which key, as the values of ``ORDER``."""

    behind: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def moved(self, rows: Iterable[tuple[Kind, Mapping[str, Any]]]) -> Self:
        """The place behind these rows, which follow this one."""
        behind = {kind.value: [row.get(name) for name in ORDER] for kind, row in rows}
        return type(self)({**self.behind, **behind})

    def as_cursor(self) -> str:
        """As text that clients hand back."""
        return base64.urlsafe_b64encode(json.dumps(self.behind).encode()).decode().rstrip("=")

    @classmethod
    def of_cursor(cls, cursor: str | None) -> Self:
        """The place that ``as_cursor`` wrote; the beginning for None. Raises UsageError."""
        if cursor is None:
            return cls()
        try:
            behind = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            if all(_is_place(kind, place) for kind, place in behind.items()):
                return cls(behind)
        except (ValueError, AttributeError, RecursionError):
            pass
        raise UsageError("the cursor is none", remedy="Use `next` of an earlier answer as it is.")


def _is_place(kind: str, place: object) -> bool:
    if kind not in list(Kind) or not isinstance(place, list) or len(place) != len(ORDER):
        return False
    numbers, names = place[:2], place[2:]
    fits = all(type(number) is int and abs(number) < 2**63 for number in numbers)
    return fits and all(name is None or _is_name(name) for name in names)


def _is_name(name: object) -> bool:
    """Whether a database takes it."""
    return isinstance(name, str) and "\0" not in name and encodable(name) == name


def page_query(
    table: Table, conditions: Sequence[ColumnElement[bool]], has_usec: bool, newest_first: bool
) -> Select[Any]:
    """The rows of a table that meet the conditions, in order."""
    wanted = [c for c in table.columns if c.name != OPTIONAL or has_usec]
    order = (column.desc() if newest_first else column for column in _ordered(table))
    return select(*wanted).where(*conditions).order_by(*order)


def beyond(table: Table, kind: Kind, place: Place, newest_first: bool) -> list[ColumnElement[bool]]:
    """The condition that a row comes after the place."""
    behind = place.behind.get(kind.value)
    if behind is None:
        return []
    columns = _ordered(table)
    values = [value for name, value in zip(ORDER, behind, strict=True) if name in table.c]
    alternatives = []
    for n, (column, value) in enumerate(zip(columns, values, strict=True)):
        same = [c == v for c, v in zip(columns[:n], values[:n], strict=True)]
        alternatives.append(and_(*same, column < value if newest_first else column > value))
    return [or_(*alternatives)]


def _ordered(table: Table) -> list[Column[Any]]:
    return [table.c[name] for name in ORDER if name in table.c]


def _begin(table: Table) -> ColumnElement[int]:
    started = table.c.was_started == 1
    return case((started, table.c.actual_start_time), else_=table.c.scheduled_start_time)


def _end(table: Table) -> ColumnElement[int]:
    """As ``expected_end``, but for those whose end is known."""
    scheduled = or_(table.c.is_fixed == 1, table.c.was_started == 0, table.c.duration.is_(None))
    triggered = table.c.actual_start_time + table.c.duration
    expected = case((scheduled, table.c.scheduled_end_time), else_=triggered)
    if "actual_end_time" not in table.c:
        return expected
    return case((table.c.actual_end_time > 0, table.c.actual_end_time), else_=expected)


def _is_in_state(table: Table, state: State, now: int) -> ColumnElement[bool]:
    if state is State.OVERDUE:
        return _end(table) <= now
    return and_(_end(table) > now, table.c.was_started == int(state is State.RUNNING))
