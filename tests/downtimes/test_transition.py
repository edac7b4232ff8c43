"""The rule alone: any full life, with any redelivery and any reordering, ends in the same rows."""

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.downtimes.downtime import CANCELLED
from leitstand.downtimes.rows import Change
from leitstand.downtimes.transition import Facts, Happening, Why, Write, transition
from tests.downtimes.conftest import events
from tests.downtimes.core import (
    ADD,
    DELETE,
    FLEXIBLE_LIVES,
    LIVES,
    LOAD,
    START,
    STOP,
    T,
    life,
    message,
)

ALL_LIVES = [*LIVES, *FLEXIBLE_LIVES]


class Played:
    """What a sequence of messages leaves in the two tables, as far as the rule goes."""

    def __init__(self, messages: list[dict[str, Any]], facts: Facts | None = None) -> None:
        self.facts = facts or Facts()
        self.scheduled = self.history = False
        self.whys: list[Why] = []
        self.happenings: list[Happening | None] = []
        for event in events(*messages):
            decision = transition(event, self.facts)
            self.facts = decision.facts
            self.scheduled = _after(decision.scheduled, self.scheduled)
            self.history = _after(decision.history, self.history)
            self.whys.append(decision.why)
            self.happenings.append(decision.happening)

    @property
    def rows(self) -> dict[str, Any]:
        """The dynamic columns of both rows, None for a row that is not there."""
        facts = self.facts
        started = (facts.started is not None, facts.started or 0)
        ended = (facts.stopped.seconds if facts.stopped else 0, facts.cancelled)
        return {
            "scheduled": started if self.scheduled else None,
            "history": (*started, *ended) if self.history else None,
        }


def _after(write: Write | None, there: bool) -> bool:
    return there if write is None else write is Write.UPSERT


@pytest.mark.parametrize("usec", [0, 500])
@pytest.mark.parametrize("name", ALL_LIVES)
def test_every_order_ends_the_same(name: str, usec: int) -> None:
    """Case 27."""
    messages = life(name, T, usec)
    expected = Played(messages).rows
    for order in itertools.permutations(messages):
        assert Played(list(order)).rows == expected, [m["type"] for m in order]


@given(
    name=st.sampled_from(ALL_LIVES),
    usec=st.sampled_from([0, 7]),
    copies=st.integers(0, 12),
    seed=st.integers(0, 10**9),
)
def test_redelivery_and_stale_copies_change_nothing(
    name: str, usec: int, copies: int, seed: int
) -> None:
    chance = random.Random(seed)
    messages = life(name, T, usec)
    played = list(messages)
    for _ in range(copies):  # a copy comes any time after its original
        original = chance.randrange(len(messages))
        behind = played.index(messages[original]) + 1
        played.insert(chance.randrange(behind, len(played) + 1), dict(messages[original]))
    assert Played(played).rows == Played(messages).rows


@given(name=st.sampled_from(ALL_LIVES), second=st.sampled_from(ALL_LIVES), seed=st.integers())
def test_a_second_life_is_not_disturbed_by_copies_of_the_first(
    name: str, second: str, seed: int
) -> None:
    """Two lives of one key: the core lost its retention file and counts anew."""
    first = [m for m in life(name, T) if m["type"] != LOAD]
    again = [
        {**m, "timestamp": m["timestamp"] + 20_000, "downtime": first[0]["downtime"]}
        for m in life(second, T)
    ]
    chance = random.Random(seed)
    copies = [dict(chance.choice(first)) for _ in range(5)]
    begun = [*first, again[0], again[1]]
    assert Played([*begun, *copies, *again[2:]]).rows == Played([*begun, *again[2:]]).rows


def test_happenings_of_a_life() -> None:
    assert Played(life("cancelled", T)).happenings == [
        None,
        Happening.SCHEDULED,
        Happening.STARTED,
        Happening.CANCELLED,
        None,
    ]
    assert Played(life("deleted before its start", T)).happenings[-1] is Happening.REMOVED
    twice = life("runs to its end", T)[1:] * 2
    assert Played(twice).happenings[4:] == [None] * 4


def test_loads_change_nothing() -> None:
    """Case 10."""
    messages = [message(kind, T + n) for n, kind in enumerate((ADD, START, STOP, DELETE))]
    load = message(LOAD, T)
    assert Played([load, messages[0], load, *messages[1:]]).rows == Played(messages).rows


def test_a_repeated_start_keeps_the_first_time() -> None:
    """Case 11."""
    played = Played([message(ADD, T - 10), message(START, T), message(LOAD, T + 60)])
    again = Played([message(START, T + 61)], played.facts)
    assert again.whys == [Why.REPEATED]
    assert again.facts.started == T


@pytest.mark.parametrize(("usec", "later"), [(100, 200), (0, 0)])
def test_start_and_stop_in_one_second(usec: int, later: int) -> None:
    """Case 9."""
    played = Played(
        [message(ADD, T - 10), message(START, T, usec=usec), message(STOP, T, usec=later, attr=1)]
    )
    assert played.rows == {"scheduled": None, "history": (True, T, T, False)}


@pytest.mark.parametrize("attr", [0, 1, 2, 3])
def test_only_attr_2_is_a_cancellation(attr: int) -> None:
    """Case 16."""
    played = Played([message(ADD, T - 10), message(START, T), message(STOP, T + 5, attr=attr)])
    assert played.facts.cancelled == (attr == CANCELLED)


@pytest.mark.parametrize(("at", "kept"), [(T, True), (T - 1, False), (T + 1, True)])
def test_a_delete_before_the_start_time_removes_the_history(at: int, kept: bool) -> None:
    """Case 15."""
    played = Played([message(ADD, T - 10), message(DELETE, at)])
    assert played.history is kept
    assert not played.scheduled


def test_a_flexible_one_that_never_starts() -> None:
    """Case 12."""
    played = Played(life("flexible, never triggered", T))
    assert played.rows == {"scheduled": None, "history": (False, 0, 0, False)}
    assert played.facts.never_started


def test_events_of_what_is_not_known() -> None:
    """Case 17."""
    assert Played([message(STOP, T, attr=1)]).rows == {"scheduled": None, "history": None}
    assert Played([message(START, T)]).rows == {"scheduled": (True, T), "history": None}


def test_what_was_reaped_comes_back_only_by_something_newer() -> None:
    played = Played([message(ADD, T - 10), message(START, T)])
    reaped = Facts(**{n: getattr(played.facts, n) for n in Facts.__slots__} | {"reaped_at": T + 9})
    assert not reaped.is_scheduled
    stale = Played([message(START, T), message(ADD, T - 10)], reaped)
    assert stale.rows["scheduled"] is None
    assert stale.facts.reaped_at is not None
    newer = Played([message(START, T + 50)], reaped)
    assert newer.rows["scheduled"] == (True, T)
    assert newer.facts.reaped_at is None


def test_a_batch_that_deletes_and_writes_does_both() -> None:
    (event,) = events(message(ADD, T))
    change = Change(event.downtime.key("n"), Facts()).history
    change.note(Write.UPSERT, event.downtime)
    change.note(Write.DELETE, event.downtime)
    assert (change.delete, change.source) == (True, None)
    change.note(Write.UPSERT, event.downtime)
    assert (change.delete, change.source) == (True, event.downtime)
