"""Applies events to the tables: one transaction for a batch, in the order in which they came."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.downtime import Event
from leitstand.downtimes.news import Happened, add_news, happened
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
    With ``leaves_news`` what happened is put into the outbox for a herald, with the rows or not at
    all.
    """

    def __init__(self, target: Target, node_name: str, *, leaves_news: bool = False) -> None:
        self._target = target
        self._node_name = node_name
        self._leaves_news = leaves_news

    async def apply(self, events: Sequence[Event]) -> list[Outcome]:
        """Apply the events; what was decided, in their order."""
        opened = await self._target.prepare()
        async with self._target.transaction() as connection:
            await opened.ledger.take_turn(connection)
            batch = _Batch(opened, self._node_name)
            outcomes = await batch.apply(connection, events)
            if self._leaves_news:
                await add_news(connection, list(batch.news(outcomes)))
        return outcomes


class _Batch:
    def __init__(self, opened: Opened, node_name: str) -> None:
        self._rows = opened.rows
        self._ledger = opened.ledger
        self._node_name = node_name
        self._known: dict[bytes, Facts] = {}
        self._changes: dict[bytes, Change] = {}
        self._digests: list[bytes] = []

    async def apply(self, connection: AsyncConnection, events: Sequence[Event]) -> list[Outcome]:
        keys = [self._rows.key(event.downtime, self._node_name) for event in events]
        digests = self._digests = [self._ledger.digest(key) for key in keys]
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

    def news(self, outcomes: Sequence[Outcome]) -> Iterator[Happened]:
        """What others may want to know of what was applied."""
        for outcome, digest in zip(outcomes, self._digests, strict=True):
            if outcome.decision.happening is not None:
                yield happened(outcome.event, outcome.decision.happening, digest)

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
