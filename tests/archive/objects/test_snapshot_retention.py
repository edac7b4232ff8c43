"""Which snapshots stay, and why."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.objects.listing import ListedSnapshot, SnapshotState
from leitstand.archive.objects.snapshot_retention import FutureSnapshotError, plan_rotation
from leitstand.archive.postgres.retention import RetentionError

NOW = datetime(2026, 12, 31, tzinfo=UTC)
COMPLETE, PARTIAL = SnapshotState.COMPLETE, SnapshotState.PARTIAL


def snapshot(day: int, state: SnapshotState = COMPLETE, *, path: str = "/a") -> ListedSnapshot:
    return ListedSnapshot(f"{day:02}", state, datetime(2026, 12, day, tzinfo=UTC), (path,))


def kept(snapshots: list[ListedSnapshot], keep: int) -> list[str]:
    return [each.id for each in plan_rotation(snapshots, keep, NOW) if each.keep]


def test_one_policy_for_the_whole_repository() -> None:
    """Restic would keep so many of each path."""
    snapshots = [snapshot(day, path=f"/{day % 2}") for day in range(1, 10)]
    assert kept(snapshots, 2) == ["08", "09"]


def test_partial_snapshots_push_none_out() -> None:
    """Cases 28, 51 and 52."""
    snapshots = [snapshot(1), snapshot(2), snapshot(3, PARTIAL), snapshot(4, PARTIAL)]
    assert kept(snapshots, 2) == ["01", "02", "03", "04"]
    assert kept([snapshot(1), snapshot(2, PARTIAL), snapshot(3)], 1) == ["03"]


def test_the_newest_proven_one_stays_whatever_the_number() -> None:
    """Case 29."""
    verified, drilled = replace(snapshot(1), verified_at=NOW), replace(snapshot(2), drilled_at=NOW)
    snapshots = [verified, drilled, snapshot(3), snapshot(4)]
    assert kept(snapshots, 1) == ["01", "02", "04"]
    assert kept(snapshots, -3) == ["01", "02"]


def test_nothing_proven_and_nothing_to_keep_is_refused() -> None:
    """Case 40."""
    with pytest.raises(RetentionError):
        plan_rotation([snapshot(1), snapshot(2, PARTIAL)], 0, NOW)
    assert plan_rotation([], 0, NOW) == ()


def test_without_a_complete_one_everything_stays() -> None:
    snapshots = [snapshot(1, PARTIAL), snapshot(2, SnapshotState.UNRECORDED)]
    assert kept(snapshots, 1) == ["01", "02"]


def test_what_others_took_is_theirs() -> None:
    assert kept([snapshot(1, SnapshotState.FOREIGN), snapshot(2), snapshot(3)], 1) == ["01", "03"]
    assert kept([snapshot(1, SnapshotState.MISSING), snapshot(2)], 1) == ["02"]


def test_a_date_in_the_future_stops_everything() -> None:
    """It would be the newest for ever."""
    late = replace(snapshot(1), taken_at=NOW + timedelta(hours=1))
    with pytest.raises(FutureSnapshotError, match="in the future"):
        plan_rotation([snapshot(2), late], 1, NOW)
    skewed = replace(snapshot(1), taken_at=NOW + timedelta(minutes=1))
    assert kept([snapshot(2), skewed], 1) == ["01"]


@pytest.mark.parametrize("skew", [timedelta(minutes=-10), timedelta(minutes=10)])
def test_the_clock_of_the_one_who_wrote_decides_nothing(skew: timedelta) -> None:
    """Case 39: it is ten minutes off; ages are never compared, and what may be wrong is refused."""
    snapshots = [snapshot(1), snapshot(2), replace(snapshot(3), taken_at=NOW + skew)]
    if skew < timedelta():
        assert kept(snapshots, 2) == ["02", "03"]
    else:
        with pytest.raises(FutureSnapshotError):
            plan_rotation(snapshots, 2, NOW)


states = st.sampled_from(SnapshotState)
listed = st.lists(
    st.builds(
        lambda day, state, proven: replace(
            snapshot(day, state), verified_at=NOW if proven else None
        ),
        st.integers(1, 30),
        states,
        st.booleans(),
    ),
    unique_by=lambda each: each.id,
).map(lambda found: sorted(found, key=lambda each: each.taken_at))


@given(listed, st.integers(1, 10))
def test_the_newest_complete_ones_always_stay(snapshots: list[ListedSnapshot], keep: int) -> None:
    decisions = {each.id: each for each in plan_rotation(snapshots, keep, NOW)}
    complete = [each.id for each in snapshots if each.counts]
    assert all(decisions[each].keep for each in complete[-keep:])
    proven = [each.id for each in snapshots if each.is_proven]
    assert all(decisions[each].keep for each in proven[-1:])
    removed = [each for each in complete if not decisions[each].keep]
    assert len(complete) - len(removed) <= keep + 1
    assert all(decision.reasons for decision in decisions.values())
