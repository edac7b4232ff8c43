"""Retention never gives up what is proven for what is not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.backup_id import FORMAT
from leitstand.archive.postgres.retention import Candidate, Plan, Policy, plan_retention

START = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(
    hours: int, system: str | None = "1", *, proven: bool = True, drilled: bool = False
) -> Candidate:
    time = START + timedelta(hours=hours)
    started = None if system is None else time
    return Candidate(time.strftime(FORMAT), system, started, proven and system is not None, drilled)


candidates = st.lists(
    st.builds(
        candidate,
        st.integers(0, 5000),
        st.sampled_from(["1", "2", None]),
        proven=st.booleans(),
        drilled=st.booleans(),
    ),
    unique_by=lambda item: item.id,
    max_size=30,
)
counts = st.integers(-3, 10)
policies = st.builds(Policy, counts, counts, counts, counts, counts, st.booleans())


def ids(plan: Plan) -> set[str]:
    return {decision.id for decision in plan.kept}


@given(candidates, policies)
def test_the_newest_proven_of_each_cluster_stays(found: list[Candidate], policy: Policy) -> None:
    """Case 29, and 33 for the clusters."""
    kept = ids(plan_retention(found, policy))
    for system in ("1", "2"):
        proven = [item.id for item in found if item.proven and item.system_identifier == system]
        assert not proven or max(proven) in kept


@given(candidates, policies)
def test_the_newest_drilled_stays_where_drills_are_on(
    found: list[Candidate], policy: Policy
) -> None:
    kept = ids(plan_retention(found, policy))
    drilled = [c.id for c in found if c.proven and c.drilled and c.system_identifier == "1"]
    assert not (policy.drills and drilled) or max(drilled) in kept


@given(candidates, policies)
def test_the_unproven_have_no_influence(found: list[Candidate], policy: Policy) -> None:
    """Case 28."""
    proven = [item for item in found if item.proven]
    alone = ids(plan_retention(proven, policy))
    together = ids(plan_retention(found, policy))
    assert together & {item.id for item in proven} == alone


@given(candidates, policies)
def test_every_decision_has_a_reason_and_nothing_is_lost(
    found: list[Candidate], policy: Policy
) -> None:
    plan = plan_retention(found, policy)
    assert [decision.id for decision in plan.decisions] == sorted(item.id for item in found)
    assert all(decision.reasons for decision in plan.decisions)
    assert plan_retention(reversed(found), policy) == plan


@given(candidates, policies)
def test_a_second_rotation_removes_nothing_more(found: list[Candidate], policy: Policy) -> None:
    kept = ids(plan_retention(found, policy))
    left = [item for item in found if item.id in kept]
    assert ids(plan_retention(left, policy)) == kept


@given(candidates)
def test_what_has_no_record_is_never_removed(found: list[Candidate]) -> None:
    """Case 32."""
    kept = ids(plan_retention(found, Policy(keep=0)))
    assert {item.id for item in found if item.system_identifier is None} <= kept


def test_failed_backups_do_not_push_out_good_ones() -> None:
    """Case 28: three failing runs, keep 2."""
    good = [candidate(0), candidate(24)]
    failed = [candidate(hours, proven=False) for hours in (48, 72, 96)]
    assert {item.id for item in good} <= ids(plan_retention([*good, *failed], Policy(keep=2)))


def test_failed_backups_go_with_the_good_ones_of_their_time() -> None:
    """Case 10: what does not count must not fill the disk for ever."""
    failed, good = candidate(0, proven=False), [candidate(24), candidate(48)]
    assert [d.id for d in plan_retention([failed, *good], Policy(keep=2)).removed] == [failed.id]


def test_generations_are_counted_not_increments() -> None:
    """Case 9: a single generation is kept, however many backups it holds."""
    only = candidate(0)
    assert ids(plan_retention([only], Policy(keep=2))) == {only.id}


def test_a_new_cluster_does_not_push_out_the_old_ones() -> None:
    """Case 33."""
    old, new = [candidate(h, "1") for h in (0, 24)], [candidate(h, "2") for h in (48, 72, 96)]
    kept = ids(plan_retention([*old, *new], Policy(keep=2)))
    assert kept == {item.id for item in [*old, *new[1:]]}


def test_a_policy_that_matches_nothing_does_not_remove_everything() -> None:
    """Case 40."""
    found = [candidate(hours) for hours in (0, 24, 48)]
    assert ids(plan_retention(found, Policy(keep=-1))) == {found[-1].id}


def test_days_weeks_months_and_years() -> None:
    found = [candidate(12 * number) for number in range(120)]
    plan = plan_retention(found, Policy(keep=1, daily=3, weekly=2, monthly=3, yearly=2))
    reasons = {d.id: d.reasons for d in plan.kept}
    assert list(reasons) == [
        "20260131T120000Z",
        "20260222T120000Z",
        "20260227T120000Z",
        "20260228T120000Z",
        "20260301T120000Z",
    ]
    assert reasons["20260131T120000Z"] == ("the newest of the month 2026-01",)
    assert "the newest of the day 2026-03-01" in reasons["20260301T120000Z"]
    assert "the newest of the year 2026" in reasons["20260301T120000Z"]


@given(candidates, policies)
def test_undrilled_ones_push_out_no_drilled_one(found: list[Candidate], policy: Policy) -> None:
    """The numbers are filled with what passed a drill, however much was taken since."""
    drilled = [item for item in found if item.drilled]
    together = ids(plan_retention(found, replace(policy, drills=True)))
    alone = ids(plan_retention(drilled, replace(policy, drills=True)))
    assert alone & {item.id for item in drilled if item.proven} <= together


@given(candidates, policies)
def test_at_most_twice_as_many_stay_where_drills_are_on(
    found: list[Candidate], policy: Policy
) -> None:
    """Waiting for a drill does not fill the disk for ever."""
    proven = [item for item in found if item.proven and item.system_identifier == "1"]
    counts = (policy.keep, policy.daily, policy.weekly, policy.monthly, policy.yearly)
    places = 2 * sum(max(count, 0) for count in counts) + 2
    assert len(plan_retention(proven, replace(policy, drills=True)).kept) <= places


def test_with_weekly_drills_of_daily_backups() -> None:
    found = [candidate(24 * day, drilled=day % 7 == 0) for day in range(30)]
    reasons = {d.id: d.reasons for d in plan_retention(found, Policy(keep=3, drills=True)).kept}
    assert list(reasons) == [found[day].id for day in (14, 21, 27, 28, 29)]
    assert reasons[found[14].id] == ("number 3 of the newest 3 that passed a drill",)
    assert reasons[found[27].id] == ("number 3 of the newest 3",)
