"""Applies events to the tables: one transaction for a batch, in the order in which they came."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import Event
from leitstand.downtimes.rows import Change
from leitstand.downtimes.target import Opened, Target
from leitstand.downtimes.transition import Decision, Facts, transition


@dataclass(frozen=True, slots=True)
class Outcome:
    """An event and what was decided about it."""

    event: Event
    decision: Decision


class Applier:
    """Applies events of the core that ``node_name`` stands for.

    Events of one downtime are folded: its rows are written once for the whole batch. Others see
    all of the batch or nothing. Raises what ``Target.transaction`` does; then nothing has changed.
    """

    def __init__(self, target: Target, node_name: str) -> None:
        self._target = target
        self._node_name = node_name

    async def apply(self, events: Sequence[Event]) -> list[Outcome]:
        """Apply the events; what was decided, in their order."""
        opened = await self._target.prepare()
        async with self._target.transaction() as connection:
            await opened.ledger.take_turn(connection)
            return await _Batch(opened, self._node_name).apply(connection, events)


class _Batch:
    def __init__(self, opened: Opened, node_name: str) -> None:
        self._rows = opened.rows
        self._ledger = opened.ledger
        self._node_name = node_name
        self._known: dict[bytes, Facts] = {}
        self._changes: dict[bytes, Change] = {}

    async def apply(self, connection: AsyncConnection, events: Sequence[Event]) -> list[Outcome]:
        keys = [self._rows.key(event.downtime, self._node_name) for event in events]
        digests = [self._ledger.digest(key) for key in keys]
        self._changes = {
            digest: Change(key, Facts()) for digest, key in zip(digests, keys, strict=True)
        }
        await self._read(connection)
        outcomes = [
            self._apply_one(event, self._changes[digest])
            for event, digest in zip(events, digests, strict=True)
        ]
        await self._write(connection)
        return outcomes

    async def _read(self, connection: AsyncConnection) -> None:
        self._known = await self._ledger.read(connection, self._changes.keys())
        strangers = [c.key for digest, c in self._changes.items() if digest not in self._known]
        for key, facts in await self._rows.facts_of(connection, strangers):
            # A row whose name differs in more than case answers to the key, but is not its own.
            self._known.setdefault(self._ledger.digest(key), facts)
        for digest, change in self._changes.items():
            change.facts = self._known.get(digest, change.facts)

    def _apply_one(self, event: Event, change: Change) -> Outcome:
        decision = transition(event, change.facts)
        change.facts = decision.facts
        change.scheduled.note(decision.scheduled, event.downtime)
        change.history.note(decision.history, event.downtime)
        return Outcome(event, decision)

    async def _write(self, connection: AsyncConnection) -> None:
        changed = {
            digest: change
            for digest, change in self._changes.items()
            if change.facts != self._known.get(digest, Facts())
        }
        await self._rows.write(connection, list(changed.values()))
        facts = {digest: (change.key, change.facts) for digest, change in changed.items()}
        await self._ledger.write(connection, facts)
