"""The ledger of detection: the only code that reads and writes what detectors remember."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leitstand.errors import NotFoundError
from leitstand.events.detection.gap import Gap
from leitstand.events.detection.own_events import reset_event
from leitstand.events.detection.source_status import Reset, SourceStatus
from leitstand.events.event import NewEvent
from leitstand.events.queue import EventQueue
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)

LOCK = 0x4C53_0009
"""First half of the advisory lock of whoever reads a source ("LS" and a number)."""


@dataclass(frozen=True)
class SourceState:
    """What is remembered of a source; ``age`` are the seconds since the last run began."""

    name: str
    identity: str
    epoch: int
    version: int
    highest: int | None
    id_limit: int | None
    warned: bool
    prints: Mapping[int, str]
    now: datetime
    age: float | None
    checkpoints: Mapping[str, int]
    gaps: Mapping[str, Sequence[Gap]]

    def was_read_within(self, seconds: float) -> bool:
        """Whether the last run began so lately; not one in the future: the clock was set back."""
        return self.age is not None and 0 <= self.age < seconds


@dataclass(frozen=True)
class Advance:
    """What a run has come to: the state after it, and the events that go with it."""

    identity: str
    epoch: int
    highest: int
    id_limit: int | None
    warned: bool
    prints: Mapping[int, str]
    checkpoints: Mapping[str, int]
    gaps: Mapping[str, Sequence[Gap]]
    emitted: Mapping[str, int]
    events: Sequence[NewEvent]
    reset: str | None = None
    """Why the source begins anew; None: it goes on."""
    late: int = 0
    dead: int = 0
    late_of: Mapping[str, int] = field(default_factory=dict)
    dead_of: Mapping[str, int] = field(default_factory=dict)
    clock_skew: float | None = None


class DetectionLedger:
    """Sources, checkpoints and gaps."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._events = EventQueue(database)

    @asynccontextmanager
    async def turn(self, name: str, limit: float) -> AsyncIterator[bool]:
        """Whether the source is the caller's, for at most ``limit`` seconds; others get False.

        The lock is one of the session: it ends with the process, however that ends.
        """
        async with self._database.connection(deadline=limit) as connection:
            row = await queries.take_turn(connection, lock=LOCK, name=name)
            try:
                yield row["taken"]
            finally:
                if row["taken"] and not connection.closed:
                    await queries.give_turn_up(connection, lock=LOCK, name=name)

    async def state(self, name: str, identity: str) -> SourceState:
        """What is remembered of the source; nothing yet for a new one."""
        async with self._database.transaction() as connection:
            row = await queries.begin(connection, name=name, identity=identity)
            checkpoints = {
                each["event"]: each["checkpoint"]
                async for each in queries.detectors_of(connection, source=name)
            }
            gaps: dict[str, list[Gap]] = defaultdict(list)
            async for each in queries.gaps_of(connection, source=name):
                gaps[each["event"]].append(_gap(each))
        return SourceState(
            name=name,
            identity=row["identity"],
            epoch=row["epoch"],
            version=row["version"],
            highest=row["highest"],
            id_limit=row["id_limit"],
            warned=row["warned"],
            prints={int(number): value for number, value in row["prints"].items()},
            now=row["now"],
            age=row["age"],
            checkpoints=checkpoints,
            gaps=gaps,
        )

    async def save(self, before: SourceState, after: Advance) -> bool:
        """Write state and events in one transaction, unless somebody else has written since.

        Whatever dies here, both are written or neither.
        """
        async with self._database.transaction(deadline=30) as connection:
            row = await queries.save_source(
                connection,
                name=before.name,
                version=before.version,
                identity=after.identity,
                epoch=after.epoch,
                highest=after.highest,
                id_limit=after.id_limit,
                warned=after.warned,
                prints=to_jsonb({str(number): value for number, value in after.prints.items()}),
                clock_skew=after.clock_skew,
                resets=int(after.reset is not None),
                late=after.late,
                dead=after.dead,
            )
            if row is None:
                return False
            if after.reset is not None:
                await self._note_reset(connection, before.name, after.epoch, after.reset)
            await self._save_detectors(connection, before, after)
            await self._events.emit_in(connection, after.events)
        return True

    async def _save_detectors(
        self, connection: Connection, before: SourceState, after: Advance
    ) -> None:
        known = before.gaps
        if after.epoch != before.epoch:
            await queries.forget_detectors(connection, source=before.name)
            known = {}
        detectors = [
            {
                "event": event,
                "checkpoint": checkpoint,
                "emitted": after.emitted.get(event, 0),
                "late_rows": after.late_of.get(event, 0),
                "dead_ids": after.dead_of.get(event, 0),
            }
            for event, checkpoint in after.checkpoints.items()
        ]
        await queries.save_detectors(connection, source=before.name, detectors=to_jsonb(detectors))
        old = {(event, gap) for event, gaps in known.items() for gap in gaps}
        new = {(event, gap) for event, gaps in after.gaps.items() for gap in gaps}
        old = {(event, gap) for event, gap in old if event in after.gaps}
        gone = [{"event": event, "first_id": gap.first} for event, gap in old - new]
        come = [_document(event, gap) for event, gap in new - old]
        await queries.drop_gaps(connection, source=before.name, gaps=to_jsonb(gone))
        await queries.add_gaps(connection, source=before.name, gaps=to_jsonb(come))

    async def note_trouble(self, name: str, state: str, problem: str | None) -> None:
        """Remember that the source could not be read; what was read before is kept."""
        async with self._database.connection() as connection:
            await queries.note_trouble(connection, name=name, state=state, problem=problem)

    async def reset(self, name: str, user: str | None, tenant: str = "main") -> int:
        """Give up epoch, checkpoints and gaps of a source together; returns the new epoch.

        An event says who did it, and so does the history of resets, for good. Raises NotFoundError
        for a source that was never read.
        """
        async with self._database.transaction() as connection:
            row = await queries.reset_source(connection, name=name)
            if row is None:
                raise NotFoundError(
                    f"no source is named {name!r}", remedy="See `leitstand detect status`."
                )
            await queries.forget_detectors(connection, source=name)
            reason = "somebody asked for it"
            await self._note_reset(connection, name, row["epoch"], reason, user)
            told = reset_event(name, row["epoch"], reason, tenant, by=user)
            await self._events.emit_in(connection, [told])
        epoch: int = row["epoch"]
        return epoch

    async def _note_reset(
        self, connection: Connection, source: str, epoch: int, reason: str, user: str | None = None
    ) -> None:
        await queries.note_reset(
            connection, source=source, epoch=epoch, reason=reason, reset_by=user
        )

    async def resets(self, source: str, limit: int = 50) -> list[Reset]:
        """When the source was begun anew, why and by whom, newest first."""
        async with self._database.connection() as connection:
            rows = queries.resets_of(connection, source=source, max_rows=limit)
            return [Reset.from_row(row) async for row in rows]

    async def status(self) -> list[SourceStatus]:
        """Every source that was ever read, by name."""
        async with self._database.connection() as connection:
            return [SourceStatus.from_row(row) async for row in queries.status(connection)]


def _gap(row: Mapping[str, Any]) -> Gap:
    holders = row["holders"]
    known = None if holders is None else frozenset(holders)
    return Gap(row["first_id"], row["last_id"], row["seen_at"], known)


def _document(event: str, gap: Gap) -> dict[str, Any]:
    return {
        "event": event,
        "first_id": gap.first,
        "last_id": gap.last,
        "seen_at": gap.seen_at,
        "holders": None if gap.holders is None else sorted(gap.holders),
    }
