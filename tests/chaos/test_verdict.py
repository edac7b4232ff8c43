"""The harness sees what it is there to see: invented histories with one fault each."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.chaos.evidence import doubles, most_at_once, spans
from tests.chaos.verdict import Facts, RunFact, judge, table

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN = RunFact(1, "a", NOON, "succeeded", final=True, token="7")
LINES = ["begin a 1 7", "alive a 1 7", "end a 1 7"]
FACTS = Facts(
    planned=frozenset({("a", NOON)}),
    explained=frozenset(),
    runs=[RUN],
    spans=spans(LINES),
    changed=0,
    troubles=[],
    group=frozenset({"a", "b"}),
    faults={"SIGKILL": 1},
    gave_up=0,
)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_a_sound_history_is_clean() -> None:
    verdict = judge(FACTS)
    assert verdict.clean(group_limit=1, rescue_limit=0.0)
    assert table({"x": verdict}).splitlines()[0].split() == ["x"]


def test_overlapping_lines_are_a_double_execution() -> None:
    assert doubles(spans(["begin a 1 7", "begin a 2 8", "alive a 1 7", "end a 2 8"])) == 1


def test_one_that_fell_silent_before_the_next_began_is_none() -> None:
    assert doubles(spans(["begin a 1 7", "alive a 1 7", "begin a 2 8", "end a 2 8", "torn"])) == 0


def test_a_group_is_counted_over_its_jobs() -> None:
    both = spans(["begin a 1 7", "begin b 2 8", "end a 1 7", "end b 2 8"])
    assert most_at_once(both, {"a", "b"}) == 2
    assert most_at_once(both, {"a"}) == 1


def test_an_occurrence_without_run_and_reason_is_lost() -> None:
    planned = FACTS.planned | {("a", after(2)), ("a", after(4))}
    verdict = judge(replace(FACTS, planned=planned, explained=frozenset({("a", after(2))})))
    assert (verdict.lost, verdict.explained) == (1, 1)


def test_a_success_without_its_end_is_hollow() -> None:
    assert judge(replace(FACTS, spans=spans(LINES[:2]))).hollow == 1


def test_an_active_run_is_left() -> None:
    assert judge(replace(FACTS, runs=[replace(RUN, final=False, status="running")])).left == 1


def test_a_rescue_is_timed_from_the_last_sign_or_the_end_of_a_trouble() -> None:
    lost = replace(RUN, status="failed", vouched_at=NOON, rescued_at=after(5))
    facts = replace(FACTS, runs=[lost])
    assert judge(facts).rescues == (5.0,)
    assert judge(replace(facts, troubles=[(after(1), after(3))])).rescues == (2.0,)
    assert judge(replace(facts, troubles=[(after(6), after(7))])).rescues == (5.0,)
