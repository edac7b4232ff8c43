"""The rule: from an event and what is known of its downtime to what is written, and why.

Pure. What is known is kept so that the order of arrival does not matter: of the events of one life
the first START, the last STOP and the last DELETE count, and a life begins with the newest ADD.
So redelivered and reordered events end in the same rows as the same events in order.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from leitstand.downtimes.downtime import CANCELLED, Event, EventType

STEPS = {EventType.ADD: 0, EventType.START: 1, EventType.STOP: 2, EventType.DELETE: 3}
"""The order of a life; decides between events of the same second whose microseconds are unknown."""


class Stamp(NamedTuple):
    """When an event happened; ``usec`` is 0 if the sender does not know it."""

    seconds: int
    usec: int
    step: int

    def after(self, other: "Stamp | None") -> bool:
        """Whether it happened after ``other``, None being before everything."""
        if other is None or self.seconds != other.seconds:
            return other is None or self.seconds > other.seconds
        if self.usec and other.usec and self.usec != other.usec:
            return self.usec > other.usec
        return self.step > other.step


def stamp_of(event: Event) -> Stamp:
    """The stamp of any event but LOAD."""
    return Stamp(event.timestamp, event.timestamp_usec, STEPS[event.type])


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a downtime; a new one has none.

    ``started`` is the first START's second, the others are the newest events of their kind.
    ``in_history``: its history row exists, as far as anybody told. ``removed``: deleted before its
    start time, so that no history is kept. ``reaped_at``: closed by the reaper, in Unix seconds.
    """

    last: Stamp | None = None
    added: Stamp | None = None
    started: int | None = None
    last_start: Stamp | None = None
    stopped: Stamp | None = None
    cancelled: bool = False
    deleted: Stamp | None = None
    removed: bool = False
    in_history: bool = False
    reaped_at: int | None = None

    @property
    def is_scheduled(self) -> bool:
        """Whether the core still has it: nothing that ends it came after what began it."""
        if self.reaped_at is not None:
            return False
        begun = newest(self.added, self.last_start)
        return begun is not None and begun.after(newest(self.stopped, self.deleted))

    @property
    def never_started(self) -> bool:
        """Whether the core dropped it without a START, as a flexible one that nothing triggered."""
        return self.deleted is not None and self.started is None and self.stopped is None


def newest(first: Stamp | None, second: Stamp | None) -> Stamp | None:
    """The later of two stamps."""
    if first is None or (second is not None and second.after(first)):
        return second
    return first


class Write(StrEnum):
    """What happens to a row."""

    UPSERT = "upsert"
    DELETE = "delete"


class Why(StrEnum):
    """The reason of a decision."""

    NEW = "new"
    LATE = "late"
    """It counts although something newer is known: events came in another order."""
    LOADED = "loaded"
    """The core restored it from its retention file; its ADD was stored before."""
    REPEATED = "repeated"
    STALE = "stale"
    """It belongs to an earlier life, or something newer makes it void."""


class Happening(StrEnum):
    """What the rest of Leitstand may want to know; names of its events."""

    SCHEDULED = "downtime.scheduled"
    STARTED = "downtime.started"
    ENDED = "downtime.ended"
    CANCELLED = "downtime.cancelled"
    REMOVED = "downtime.removed"


@dataclass(frozen=True, slots=True)
class Decision:
    """``facts`` as they are now, and what to do to the rows; None leaves a row alone.

    The facts of an event that did not count can be new, too, as the time of a repeated START.
    """

    facts: Facts
    why: Why
    scheduled: Write | None = None
    history: Write | None = None
    happening: Happening | None = None

    @property
    def applied(self) -> bool:
        """Whether the event counted."""
        return self.why in (Why.NEW, Why.LATE)


def transition(event: Event, facts: Facts) -> Decision:
    """What ``event`` means for a downtime of which ``facts`` are known."""
    if event.type is EventType.LOAD:
        return Decision(facts, Why.LOADED)
    stamp = stamp_of(event)
    if event.type is EventType.ADD:
        return _add(stamp, facts)
    if facts.added is not None and not stamp.after(facts.added):
        return Decision(facts, Why.STALE)
    if event.type is EventType.START:
        return _start(stamp, facts)
    if event.type is EventType.STOP:
        return _stop(stamp, event.attr == CANCELLED, facts)
    return _delete(stamp, event.downtime.start_time > event.timestamp, facts)


def _add(stamp: Stamp, facts: Facts) -> Decision:
    if facts.added is not None and not stamp.after(facts.added):
        return _void(stamp, facts.added, facts)
    if stamp.after(facts.last):
        life = Facts(last=stamp, added=stamp, in_history=True)
        return Decision(life, Why.NEW, Write.UPSERT, Write.UPSERT, Happening.SCHEDULED)
    if facts.removed and _counts(facts.deleted, stamp):
        return Decision(facts, Why.STALE)
    life = _since(stamp, facts)
    return Decision(life, Why.LATE, _scheduled(life), Write.UPSERT)


def _since(added: Stamp, facts: Facts) -> Facts:
    """What is known of the life that began with ``added``, when newer events came before it."""
    later = facts.last_start if _counts(facts.last_start, added) else None
    first = facts.started
    if later is None or (first is not None and first < added.seconds):
        first = None if later is None else later.seconds
    stopped = facts.stopped if _counts(facts.stopped, added) else None
    deleted = facts.deleted if _counts(facts.deleted, added) else None
    return replace(
        facts,
        added=added,
        started=first,
        last_start=later,
        stopped=stopped,
        cancelled=facts.cancelled and stopped is not None,
        deleted=deleted,
        removed=facts.removed and deleted is not None,
        in_history=True,
    )


def _counts(stamp: Stamp | None, added: Stamp) -> bool:
    return stamp is not None and stamp.after(added)


def _start(stamp: Stamp, facts: Facts) -> Decision:
    # The first one counts: a Nagios core repeats START for what runs while it restarts.
    started = stamp.seconds if facts.started is None else min(facts.started, stamp.seconds)
    last_start = newest(facts.last_start, stamp)
    if (started, last_start) == (facts.started, facts.last_start):
        return _void(stamp, facts.last_start, facts)
    if facts.removed and not stamp.after(facts.deleted):
        return Decision(facts, Why.STALE)
    now = _noted(stamp, replace(facts, started=started, last_start=last_start))
    if started == facts.started and facts.is_scheduled:
        return Decision(now, Why.REPEATED)
    begins = facts.started is None and now.is_scheduled
    return Decision(
        now,
        _newness(stamp, facts),
        _scheduled(now),
        _history(now),
        Happening.STARTED if begins else None,
    )


def _stop(stamp: Stamp, cancelled: bool, facts: Facts) -> Decision:
    if not stamp.after(facts.stopped):
        return _void(stamp, facts.stopped, facts)
    now = _noted(stamp, replace(facts, stopped=stamp, cancelled=cancelled))
    return Decision(
        now,
        _newness(stamp, facts),
        _scheduled(now),
        _history(now),
        _end(facts, cancelled),
    )


def _end(facts: Facts, cancelled: bool) -> Happening | None:
    """What a STOP tells; whose reaper has told of the end needs no word that it was so."""
    if cancelled:
        return Happening.CANCELLED
    return Happening.ENDED if facts.reaped_at is None else None


def _delete(stamp: Stamp, before_its_start: bool, facts: Facts) -> Decision:
    if not stamp.after(facts.deleted):
        return _void(stamp, facts.deleted, facts)
    in_history = facts.in_history and not before_its_start
    deleted = replace(facts, deleted=stamp, removed=before_its_start, in_history=in_history)
    now = _noted(stamp, deleted)
    return Decision(
        now,
        _newness(stamp, facts),
        _scheduled(now),
        Write.DELETE if before_its_start else None,
        Happening.REMOVED if now.never_started and facts.reaped_at is None else None,
    )


def _noted(stamp: Stamp, facts: Facts) -> Facts:
    """``facts`` with the time of the last event; an event says more than the reaper guessed."""
    return replace(facts, last=newest(facts.last, stamp), reaped_at=None)


def _newness(stamp: Stamp, facts: Facts) -> Why:
    return Why.NEW if stamp.after(facts.last) else Why.LATE


def _void(stamp: Stamp, known: Stamp | None, facts: Facts) -> Decision:
    return Decision(facts, Why.REPEATED if stamp == known else Why.STALE)


def _scheduled(facts: Facts) -> Write:
    return Write.UPSERT if facts.is_scheduled else Write.DELETE


def _history(facts: Facts) -> Write | None:
    return Write.UPSERT if facts.in_history else None
