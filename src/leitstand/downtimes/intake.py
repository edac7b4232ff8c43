"""Takes deliveries in: decodes them, keeps what is bad, applies what is good, tells who listens."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from leitstand.downtimes.applier import Applier, Outcome
from leitstand.downtimes.dead_letters import DeadLetters
from leitstand.downtimes.downtime import Event, Kind
from leitstand.downtimes.herald import Herald
from leitstand.downtimes.listeners import NOBODY, TOPIC, Broadcast, JobsOfHosts
from leitstand.downtimes.message import Problem, Rejected, decode
from leitstand.downtimes.target import MessageRefusedError
from leitstand.errors import LeitstandError

log = structlog.get_logger(__name__)


@dataclass
class Counts:
    """How many messages of a kind there were; ``ignored`` and ``rejected`` by reason.

    ``first_timestamp``: when the first of them happened, in Unix seconds.
    """

    applied: int = 0
    first_timestamp: int | None = None
    ignored: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        return {
            "applied": self.applied,
            "ignored": self.ignored.total(),
            "rejected": self.rejected.total(),
            "reasons": dict(self.rejected),
            "ignored_reasons": dict(self.ignored),
        }

    def add(self, other: "Counts") -> None:
        """Add those of ``other``, which came later."""
        self.applied += other.applied
        self.ignored += other.ignored
        self.rejected += other.rejected


@dataclass(frozen=True)
class Listeners:
    """Who is told of what; ``herald`` of what the applier leaves in the outbox."""

    broadcast: Broadcast = NOBODY
    jobs: JobsOfHosts = NOBODY
    herald: Herald | None = None


class Intake:
    """The one way of messages into the tables: for consumers, files and replayed dead letters.

    ``applier`` is None where no database keeps downtimes: then they are only published.
    """

    def __init__(
        self,
        applier: Applier | None,
        dead_letters: DeadLetters,
        source: str,
        listeners: Listeners | None = None,
    ) -> None:
        self._applier = applier
        self._dead_letters = dead_letters
        self._source = source
        self._listeners = listeners or Listeners()
        self._hosts_to_tell: set[str] = set()

    async def take(self, bodies: Iterable[bytes], *, again: bool = False) -> Counts:
        """Take messages in, in order; when this returns, all are in the tables or dead letters.

        ``again``: some were delivered before, and whoever took them then may have died before it
        told the listeners. Raises LeitstandError when a database is away; the same messages may
        be given again, whatever became of them. Then nothing changes twice, but what had been
        published by then is published twice.
        """
        events, rejected = _sorted_out(bodies)
        outcomes = await self._apply(events, rejected)
        await self._bury(rejected)
        if events:
            documents = [event.document for event in events]
            await self._listeners.broadcast.publish_all(TOPIC, documents)
        await self._tell(events, outcomes, again)
        counts = _counts(outcomes, rejected)
        counts.first_timestamp = events[0].timestamp if events else None
        return counts

    async def _apply(self, events: Sequence[Event], rejected: list[Rejected]) -> list[Outcome]:
        """Apply the events; those that the database refuses join the rejected."""
        if self._applier is None or not events:
            return []
        try:
            return await self._applier.apply(events)
        except MessageRefusedError as error:
            if len(events) == 1:
                rejected.append(_refused(events[0], error))
                return []
        # One of them is to blame; the halves are tried in order until it is alone.
        middle = len(events) // 2
        first = await self._apply(events[:middle], rejected)
        return first + await self._apply(events[middle:], rejected)

    async def _bury(self, rejected: Sequence[Rejected]) -> None:
        await self._dead_letters.bury(self._source, rejected)
        for one in rejected:
            log.warning(
                "message rejected", source=self._source, reason=one.problem, detail=one.detail
            )

    async def _tell(
        self, events: Sequence[Event], outcomes: Sequence[Outcome], again: bool
    ) -> None:
        """Tell the listeners; their trouble is not the queue's."""
        told = events if again else [o.event for o in outcomes if o.decision.applied]
        self._hosts_to_tell |= {e.downtime.host_name for e in told if e.downtime.kind is Kind.HOST}
        try:
            await self._tell_jobs()
            await self._announce(outcomes)
        except LeitstandError as error:
            log.warning("not everybody was told of downtimes", error=error.message)

    async def _announce(self, outcomes: Sequence[Outcome]) -> None:
        """Announce at once what happened; the outbox keeps what cannot be announced now."""
        herald = self._listeners.herald
        if herald is not None and any(outcome.decision.happening for outcome in outcomes):
            await herald.run_once()

    async def _tell_jobs(self) -> None:
        """Tell of the hosts that changed; those of attempts that failed are told again."""
        if self._hosts_to_tell:
            await self._listeners.jobs.hosts_changed(frozenset(self._hosts_to_tell))
            self._hosts_to_tell.clear()


def _sorted_out(bodies: Iterable[bytes]) -> tuple[list[Event], list[Rejected]]:
    events: list[Event] = []
    rejected: list[Rejected] = []
    for body in bodies:
        for one in decode(body):
            if isinstance(one, Event):
                events.append(one)
            else:
                rejected.append(one)
    return events, rejected


def _refused(event: Event, error: MessageRefusedError) -> Rejected:
    body = json.dumps(event.document).encode()
    return Rejected(Problem.REFUSED_BY_DATABASE, error.detail or error.message, body)


def _counts(outcomes: Sequence[Outcome], rejected: Sequence[Rejected]) -> Counts:
    return Counts(
        applied=sum(o.decision.applied for o in outcomes),
        ignored=Counter(o.decision.why.value for o in outcomes if not o.decision.applied),
        rejected=Counter(one.problem.value for one in rejected),
    )
