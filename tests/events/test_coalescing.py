"""Many events as one: counted, with the newest payload, in bounded size."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leitstand.events import Event, EventState, Gathered, added_since, run_event
from leitstand.events.coalescing import LIST_LIMIT, LISTED

START = datetime(2026, 12, 2, tzinfo=UTC)


def event(number: int, name: str = "e", payload: Any = None) -> Event:
    at = START + timedelta(seconds=number)
    return Event(
        number, name, "test", "main", payload or {"n": number}, at, at, EventState.WAITING, None
    )


def gathered(*events: Event) -> Gathered:
    times = [each.occurred_at for each in events]
    return Gathered(len(events), min(times), max(times), events[-LISTED:])


@given(st.lists(st.lists(st.integers(1, 500), min_size=1, max_size=40), min_size=1, max_size=6))
def test_however_they_come_a_run_stands_for_all_of_them(batches: list[list[int]]) -> None:
    """The newest by storage, also when a later pass sees an older one; each is counted once."""
    seen: set[int] = set()
    document: dict[str, Any] | None = None
    for batch in batches:
        fresh = sorted(set(batch) - seen)
        if fresh:
            seen |= set(fresh)
            document = run_event(gathered(*map(event, fresh)), document)
    assert document is not None
    assert document["count"] == len(seen)
    assert document["payload"] == {"n": max(seen)}
    assert document["first_at"] == event(min(seen)).occurred_at.isoformat()
    assert document["last_at"] == event(max(seen)).occurred_at.isoformat()
    listed = [each["id"] for each in document["events"]]
    assert listed == sorted(listed) and len(listed) <= LISTED
    assert listed[-1] == document["id"] == max(seen)


def test_a_list_of_large_events_is_cut_from_its_old_end() -> None:
    large = [event(number, payload={"text": "x" * 60_000}) for number in range(1, 11)]
    document = run_event(gathered(*large))
    assert document["count"] == 10
    assert [each["id"] for each in document["events"]] == [7, 8, 9, 10]
    assert len(json.dumps(document["events"])) <= LIST_LIMIT


def test_what_a_job_listened_to_before_does_not_count() -> None:
    before = run_event(gathered(event(1, "other")))
    assert run_event(gathered(event(2)), before)["count"] == 1


numbers = st.sets(st.integers(1, 500), min_size=1, max_size=40)


@given(numbers, numbers)
def test_what_was_added_is_what_is_there_without_what_it_began_with(
    first: set[int], later: set[int]
) -> None:
    before = run_event(gathered(*map(event, sorted(first))))
    assert added_since(before, before) is None
    if added := sorted(later - first):
        both = run_event(gathered(*map(event, added)), before)
        found = added_since(both, before)
        assert found is not None
        assert found["count"] == (both["count"] if found == both else len(added))
        seen = [each["id"] for each in both["events"] if each["id"] in added]
        assert [each["id"] for each in found["events"]] == (
            seen or [e["id"] for e in both["events"]]
        )
        assert found["id"] == found["events"][-1]["id"]


def test_all_was_added_to_a_run_that_nothing_is_known_of() -> None:
    """It has no attempt before it, or that one heard something else."""
    now = run_event(gathered(event(2), event(3)))
    assert added_since(now, None) == now
    assert added_since(now, run_event(gathered(event(1, "other")))) == now
