"""The outbox: what happened to downtimes, kept beside the tables until it has been announced."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import Downtime, Event, Key
from leitstand.downtimes.moments import moment_of
from leitstand.downtimes.tables import NEWS
from leitstand.downtimes.transition import Happening, stamp_of
from leitstand.store.jsonb import json_text

AUTHOR, COMMENT = 255, 1024
"""Characters in the columns of the tables, and in events."""

IN_A_ROW = 200
"""Happenings of one row: some hundred KiB, which every server takes in one statement."""

_add = insert(NEWS).values(happenings=bindparam("happenings"))
_forget = delete(NEWS).where(NEWS.c.id.in_(bindparam("ids", expanding=True)))


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened to a downtime.

    ``identity`` is the same whenever the same is told: it follows from the downtime's key, the
    name (``downtime.started`` and its like) and the core's time.
    """

    identity: str
    name: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row of the outbox; the numbers of rows grow in the order of their commits."""

    id: int
    happenings: Sequence[Happened]


def happened(event: Event, happening: Happening, digest: bytes) -> Happened:
    """What ``event`` was for the downtime that ``digest`` stands for."""
    stamp = stamp_of(event)
    identity = _identity(digest, happening, stamp.seconds, stamp.usec)
    return Happened(identity, happening.value, event_payload(event.downtime, event.timestamp))


def happened_to_row(
    key: Key, row: Mapping[str, Any], happening: Happening, at: int, digest: bytes
) -> Happened:
    """What became of a downtime of which the core says nothing; ``at`` is in Unix seconds."""
    downtime = Downtime(
        kind=key.kind,
        host_name=key.hostname,
        service_description=key.service_description,
        author_name=row["author_name"],
        comment_data=row["comment_data"],
        entry_time=row["entry_time"],
        start_time=key.scheduled_start_time,
        end_time=row["scheduled_end_time"],
        triggered_by=row["triggered_by_id"],
        downtime_id=key.internal_downtime_id,
        fixed=bool(row["is_fixed"]),
        duration=row["duration"],
    )
    identity = _identity(digest, happening, at, 0)
    return Happened(identity, happening.value, event_payload(downtime, at, reaped=True))


def _identity(digest: bytes, happening: Happening, seconds: int, usec: int) -> str:
    return f"{digest.hex()} {happening.value} {seconds}.{usec:06}"


def event_payload(downtime: Downtime, at: int, *, reaped: bool = False) -> dict[str, Any]:
    """What Leitstand's own events say of a downtime; ``at`` is in Unix seconds.

    ``reaped``: the core has not said so, it was closed without a word.
    """
    return {
        "kind": downtime.kind.value,
        "host": downtime.host_name,
        "service": downtime.service_description or None,
        "downtime_id": downtime.downtime_id,
        "start": moment_of(downtime.start_time),
        "end": moment_of(downtime.end_time),
        "fixed": downtime.fixed,
        "author": (downtime.author_name or "")[:AUTHOR] or None,
        "comment": (downtime.comment_data or "")[:COMMENT] or None,
        "at": moment_of(at),
        "reaped": reaped,
    }


async def add_news(connection: AsyncConnection, happenings: Sequence[Happened]) -> None:
    """Keep them in the caller's transaction, which has the turn of those that apply events."""
    rows = [{"happenings": json_text([asdict(one) for one in part])} for part in _parts(happenings)]
    if rows:
        await connection.execute(_add, rows)


async def waiting_news(connection: AsyncConnection, most: int) -> list[Waiting]:
    """The oldest ``most`` rows, in the order of their commits."""
    rows = await connection.execute(select(NEWS).order_by(NEWS.c.id).limit(most))
    return [
        Waiting(row["id"], [Happened(**one) for one in json.loads(row["happenings"])])
        for row in rows.mappings()
    ]


async def forget_news(connection: AsyncConnection, ids: Collection[int]) -> None:
    """Delete rows; it does not matter if somebody else was faster."""
    await connection.execute(_forget, {"ids": list(ids)})


def _parts(happenings: Sequence[Happened]) -> Iterator[list[Happened]]:
    remaining = iter(happenings)
    while part := list(islice(remaining, IN_A_ROW)):
        yield part
