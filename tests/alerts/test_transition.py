"""The life of an alert, as the rule alone decides it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from leitstand.alerts import AlertSpec, AlertState, Phase
from leitstand.alerts.rule import Comparison
from leitstand.alerts.sighting import fingerprint, look
from leitstand.alerts.transition import Notice, Sight, transition

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOLD = (UUID(int=1),)

rules = st.builds(
    AlertSpec,
    metric_name=st.just("m"),
    comparison=st.just(Comparison.GT),
    threshold=st.just(10.0),
    recipient=st.just("log"),
    hold=st.sampled_from([0.0, 120.0]),
    debounce=st.sampled_from([0.0, 300.0, 900.0]),
    repeat=st.sampled_from([None, 600.0, 3600.0]),
)
looks = st.lists(st.tuples(st.sampled_from(Sight), st.integers(1, 400), st.booleans()), max_size=40)


@given(rules, looks)
def test_what_people_hear_makes_sense(
    rule: AlertSpec, looks: list[tuple[Sight, int, bool]]
) -> None:
    """Firing is never told sooner than the debounce allows, nor while it is muted; resolved only
    after firing, and once."""
    state: AlertState | None = None
    now, fired, told = NOON, None, False
    for sight, seconds, muted in looks:
        now += timedelta(seconds=seconds)
        step = transition(rule, state, sight, now, "quiet" if muted else None)
        if step is None:
            assert state is None or state.phase is Phase.RESOLVED
            continue
        state = step.state
        if step.notice is Notice.FIRING:
            assert sight is Sight.VIOLATES
            assert not muted
            assert fired is None or (now - fired).total_seconds() >= rule.debounce
            assert (now - state.since).total_seconds() >= rule.hold
            state = replace(state, told=TOLD)
            fired, told = now, True
        elif step.notice is Notice.RESOLVED:
            assert told
            assert sight in (Sight.CLEAR, Sight.MISSING)
            told = False


@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(-5, 5), st.floats(0, 3))
def test_less_than_is_the_mirror_of_greater_than(
    value: float, threshold: float, gap: float
) -> None:
    above = _rule(Comparison.GT, threshold, threshold - gap)
    below = _rule(Comparison.LT, -threshold, gap - threshold)
    assert look(above, value) is look(below, -value)
    assert (look(above, value) is Sight.VIOLATES) == (value > threshold)


def _rule(comparison: Comparison, threshold: float, clear: float) -> AlertSpec:
    return AlertSpec(
        metric_name="m",
        comparison=comparison,
        threshold=threshold,
        clear_threshold=clear,
        recipient="log",
    )


@given(st.dictionaries(st.text(), st.text()))
def test_the_order_of_labels_means_nothing(labels: dict[str, str]) -> None:
    assert fingerprint(labels) == fingerprint(dict(reversed(labels.items())))


def test_labels_are_not_run_together() -> None:
    assert fingerprint({"a": "b,c=d"}) != fingerprint({"a": "b", "c": "d"})


FIRM = AlertSpec(
    metric_name="m",
    comparison=Comparison.GT,
    threshold=10.0,
    recipient="log",
    hold=120.0,
    debounce=900.0,
)
LATER = NOON + timedelta(days=400)


def test_a_clock_that_was_set_back_does_not_silence_what_fires() -> None:
    """What was told at a time that is to come counted as told lately, for over a year."""
    told = AlertState(Phase.FIRING, LATER, told_at=LATER, told=TOLD)
    step = transition(FIRM, told, Sight.VIOLATES, NOON, None)
    assert step is not None
    assert step.notice is Notice.FIRING
    assert step.state.told_at == NOON


def test_a_clock_that_is_a_little_behind_tells_nothing_twice() -> None:
    told = AlertState(Phase.FIRING, NOON, told_at=NOON, told=TOLD)
    step = transition(FIRM, told, Sight.VIOLATES, NOON - timedelta(seconds=2), None)
    assert step is not None
    assert step.notice is None


def test_a_clock_that_was_set_back_does_not_lengthen_for_or_absence() -> None:
    held = transition(FIRM, AlertState(Phase.PENDING, LATER), Sight.VIOLATES, NOON, None)
    assert held is not None
    assert held.state.since == NOON
    missing = AlertState(Phase.FIRING, NOON, missing_since=LATER)
    gone = transition(FIRM, missing, Sight.MISSING, NOON, None)
    assert gone is not None
    assert gone.state.missing_since == NOON
