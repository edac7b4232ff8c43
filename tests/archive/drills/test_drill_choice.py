"""Over time every backup has its turn."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.drills.drill_choice import Drillable, choose

START = datetime(2026, 1, 1, tzinfo=UTC)

drillables = st.lists(
    st.builds(
        Drillable,
        st.sampled_from(["20260101T000000Z", "20260102T000000Z", "20260103T000000Z"]),
        st.sampled_from(["full", "incremental/20260104T000000Z", "incremental/20260105T000000Z"]),
        st.none() | st.integers(0, 9).map(lambda days: START + timedelta(days=days)),
    ),
    unique_by=lambda stage: (stage.generation, stage.stage),
)


@given(drillables, st.integers(0, 12))
def test_what_was_never_drilled_comes_first(stages: list[Drillable], count: int) -> None:
    chosen = choose(stages, count)
    assert len(chosen) == min(count, len(stages))
    assert choose(stages[::-1], count) == chosen
    never = [stage for stage in stages if stage.tried_at is None]
    assert all(stage.tried_at is None for stage in chosen[: len(never)])
    times = [stage.tried_at for stage in chosen if stage.tried_at is not None]
    assert times == sorted(times)


@given(drillables)
def test_every_stage_has_its_turn_before_any_has_a_second(stages: list[Drillable]) -> None:
    turns, now = [], START + timedelta(days=10)
    for number in range(len(stages)):
        (turn,) = choose(stages, 1)
        turns.append((turn.generation, turn.stage))
        drilled = replace(turn, tried_at=now + timedelta(days=number))
        stages = [drilled if stage == turn else stage for stage in stages]
    assert len(set(turns)) == len(turns)


def test_generations_take_turns_the_newer_first() -> None:
    stages = [
        Drillable(generation, stage, None)
        for generation in ("20260101T000000Z", "20260102T000000Z")
        for stage in ("full", "incremental/20260103T000000Z")
    ]
    chosen = [(turn.generation, turn.stage) for turn in choose(stages, 4)]
    assert chosen[:2] == [
        ("20260102T000000Z", "incremental/20260103T000000Z"),
        ("20260101T000000Z", "incremental/20260103T000000Z"),
    ]
