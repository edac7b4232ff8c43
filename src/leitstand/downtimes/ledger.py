"""The ledger: what is known of each downtime, kept beside the Statusengine tables."""

from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Any

from sqlalchemy import Insert, Select, bindparam, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import EventType, Key
from leitstand.downtimes.tables import GATE, LEDGER
from leitstand.downtimes.transition import STEPS, Facts, Stamp
from leitstand.downtimes.upsert import upsert

GATE_ROW = 1

_gate = select(GATE.c.id).where(GATE.c.id == GATE_ROW).with_for_update()
_by_digest: Select[Any] = select(LEDGER).where(
    LEDGER.c.digest.in_(bindparam("digests", expanding=True))
)

_forget = delete(LEDGER).where(
    LEDGER.c.last_time < bindparam("before"),
    or_(
        LEDGER.c.stopped_time.is_not(None),
        LEDGER.c.deleted_time.is_not(None),
        LEDGER.c.reaped_time.is_not(None),
    ),
)

STAMPS = {
    "added": STEPS[EventType.ADD],
    "last_start": STEPS[EventType.START],
    "stopped": STEPS[EventType.STOP],
    "deleted": STEPS[EventType.DELETE],
}


class Ledger:
    """Reads and writes facts in the caller's transaction.

    ``folds_case``: the Statusengine tables take names that differ only in case for the same, and
    so does the ledger then.
    """

    def __init__(self, folds_case: bool) -> None:
        self._folds_case = folds_case

    def digest(self, key: Key) -> bytes:
        """What stands for ``key`` in the ledger."""
        names = (key.hostname, key.service_description, key.node_name)
        if self._folds_case:
            names = (names[0].casefold(), names[1].casefold(), names[2].casefold())
        numbers = (str(key.scheduled_start_time), str(key.internal_downtime_id))
        # No name can hold the separator: messages with a NUL are refused.
        text = "\0".join((key.kind, *names, *numbers))
        return blake2b(text.encode(), digest_size=16).digest()

    async def take_turn(self, connection: AsyncConnection) -> None:
        """Wait until no other transaction applies events; to be called first in each of them.

        Two that read the same facts and wrote them back would lose one of the changes.
        """
        await connection.execute(_gate)

    async def read(
        self, connection: AsyncConnection, digests: Collection[bytes]
    ) -> dict[bytes, Facts]:
        """The facts of those downtimes that the ledger knows."""
        rows = await connection.execute(_by_digest, {"digests": list(digests)})
        return {bytes(row["digest"]): _facts(row) for row in rows.mappings()}

    async def write(
        self, connection: AsyncConnection, facts: Mapping[bytes, tuple[Key, Facts]]
    ) -> None:
        """Keep the facts, in place of what was known."""
        rows = [_row(digest, key, known) for digest, (key, known) in facts.items()]
        if rows:
            await connection.execute(_upsert_for(connection), rows)

    async def forget_before(self, connection: AsyncConnection, seconds: int) -> None:
        """Forget what was over before that Unix second."""
        await connection.execute(_forget, {"before": seconds})


def _upsert_for(connection: AsyncConnection) -> Insert:
    names = tuple(column.name for column in LEDGER.columns)
    return upsert(connection.dialect.name, LEDGER, names, names[1:])


def _facts(row: Mapping[str, Any]) -> Facts:
    stamps = {name: _stamp(row, name, step) for name, step in STAMPS.items()}
    return Facts(
        last=_stamp(row, "last", row["last_step"]),
        started=row["started_time"],
        cancelled=bool(row["was_cancelled"]),
        removed=bool(row["was_removed"]),
        in_history=bool(row["in_history"]),
        reaped_at=row["reaped_time"],
        **stamps,
    )


def _stamp(row: Mapping[str, Any], name: str, step: int) -> Stamp | None:
    seconds = row[f"{name}_time"]
    return None if seconds is None else Stamp(seconds, row[f"{name}_usec"], step)


def _row(digest: bytes, key: Key, facts: Facts) -> dict[str, Any]:
    row: dict[str, Any] = {
        "digest": digest,
        **key._asdict(),
        "kind": key.kind.value,
        "last_step": None if facts.last is None else facts.last.step,
        "started_time": facts.started,
        "was_cancelled": facts.cancelled,
        "was_removed": facts.removed,
        "in_history": facts.in_history,
        "reaped_time": facts.reaped_at,
    }
    for name in ("last", *STAMPS):
        stamp: Stamp | None = getattr(facts, name)
        row[f"{name}_time"] = None if stamp is None else stamp.seconds
        row[f"{name}_usec"] = None if stamp is None else stamp.usec
    return row
