"""Due jobs: what runs, what was missed, and when the next time is."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leitstand.jobs.misfire import LONGEST_COUNT, Due, Misfire, decide_due, next_on_edit
from leitstand.jobs.schedule import Schedule
from tests.jobs.schedules import START, at, cron, every, local

TOLERANCE = timedelta(seconds=70)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
MINUTELY = cron("* * * * *")
DAILY = cron("0 4 * * *")
FIRST, LAST = (datetime.fromisoformat(day) for day in ("2024-01-01", "2050-01-01"))
NOT_THERE = "no control server was running when it was due"


def decide(
    schedule: Schedule, planned: datetime, now: datetime, policy: Misfire, limit: int = 10
) -> Due:
    return decide_due(planned, now, schedule, policy, TOLERANCE, limit)


@pytest.mark.parametrize("policy", Misfire)
@pytest.mark.parametrize(
    ("late", "reason"), [(0, "on time"), (12, "late by 12s"), (70, "late by 1m10s")]
)
def test_late_is_not_missed(policy: Misfire, late: int, reason: str) -> None:
    planned = local("2026-06-01 04:00", "UTC")
    due = decide(DAILY, planned, planned + late * SECOND, policy)
    assert due == Due((planned,), planned + timedelta(days=1), None, None, reason)


@pytest.mark.parametrize("policy", Misfire)
def test_within_the_tolerance_every_slot_runs(policy: Misfire) -> None:
    """A pass that took a minute costs a minutely job no run."""
    due = decide(MINUTELY, START, START + 65 * SECOND, policy)
    assert due == Due((START, START + MINUTE), START + 2 * MINUTE, None, None, "late by 1m5s")


def test_within_the_tolerance_there_is_a_limit_too() -> None:
    due = decide(every("1s"), START, START + 30 * SECOND, Misfire.SKIP, limit=10)
    assert due.run_at == tuple(START + n * SECOND for n in range(21, 31))
    assert due.missed is not None
    assert due.missed.count == 21
    assert "faster" in due.reason


@pytest.mark.parametrize(
    ("policy", "runs", "reason"),
    [
        (Misfire.ONCE, 1, f"{NOT_THERE}; it runs now, up to 3h late"),
        (Misfire.ALL, 1, f"{NOT_THERE}; it runs now, up to 3h late"),
        (Misfire.SKIP, 0, f"{NOT_THERE}, and the job's misfire policy is to skip"),
    ],
)
def test_one_occurrence_in_an_outage(policy: Misfire, runs: int, reason: str) -> None:
    planned = local("2026-06-01 04:00", "UTC")
    due = decide(DAILY, planned, planned + timedelta(hours=3), policy)
    assert len(due.run_at) == runs
    assert due.next_at == planned + timedelta(days=1)
    assert due.reason == reason
    assert (due.missed is None) == (runs == 1)


def test_once_runs_the_newest_and_counts_the_others() -> None:
    now = START + timedelta(hours=2, seconds=30)
    due = decide(MINUTELY, START, now, Misfire.ONCE)
    newest = START + timedelta(hours=2)
    assert due.run_at == (newest,)
    assert due.next_at == newest + MINUTE
    assert due.missed is not None
    assert (due.missed.count, due.missed.exact, due.missed.last) == (120, True, newest - MINUTE)
    assert due.first_missed == START
    assert due.reason.endswith("they were due; the one that follows them runs")


def test_skip_runs_only_what_has_just_come_due() -> None:
    due = decide(MINUTELY, START, START + timedelta(hours=2, seconds=30), Misfire.SKIP)
    assert due.run_at == (START + timedelta(hours=2),)
    hourly = cron("0 * * * *")
    due = decide(hourly, START, START + timedelta(hours=2, minutes=30), Misfire.SKIP)
    assert due.run_at == ()
    assert due.missed is not None
    assert (due.missed.count, due.missed.last) == (3, START + timedelta(hours=2))
    assert due.next_at == START + timedelta(hours=3)


def test_all_runs_the_newest_up_to_the_limit() -> None:
    now = START + timedelta(minutes=30)
    due = decide(MINUTELY, START, now, Misfire.ALL, limit=5)
    assert due.run_at == tuple(START + n * MINUTE for n in (26, 27, 28, 29, 30))
    assert due.missed is not None
    assert (due.missed.count, due.missed.last) == (26, START + 25 * MINUTE)
    assert decide(MINUTELY, START, now, Misfire.ALL, limit=31).missed is None


@pytest.mark.parametrize("schedule", [MINUTELY, every("1m"), cron("* * * * *", "Europe/Berlin")])
def test_thirty_days_without_a_server(schedule: Schedule) -> None:
    """Case 22: one run at once, n missed, next slot on the grid, and cheap."""
    began = time.process_time()
    now = START + timedelta(days=30, seconds=20)
    due = decide(schedule, START, now, Misfire.ONCE)
    assert time.process_time() - began < 0.5
    assert due.run_at == (START + timedelta(days=30),)
    assert due.next_at == START + timedelta(days=30) + MINUTE
    assert due.missed is not None
    assert (due.missed.count, due.missed.exact) == (43200, True)


def test_a_clock_that_was_decades_wrong_is_counted_in_part() -> None:
    due = decide(DAILY, START - timedelta(days=20000), START, Misfire.ONCE)
    assert due.missed is not None
    assert (due.missed.count, due.missed.exact) == (LONGEST_COUNT.days, False)


def test_a_server_that_was_stopped_for_two_hours() -> None:
    """Case 27: no burst, at most one run, the rest recorded."""
    for schedule in (MINUTELY, every("10s"), every("5m"), cron("*/7 * * * *")):
        planned = schedule.next_after(START)
        assert planned is not None
        now = planned + timedelta(hours=2)
        for policy in (Misfire.ONCE, Misfire.SKIP):
            due = decide(schedule, planned, now, policy)
            assert len(due.run_at) <= 1
            missed = due.missed.count if due.missed else 0
            assert missed + len(due.run_at) == 1 + schedule.count(planned, now)


def test_servers_that_restart_every_minute() -> None:
    """Case 20: a job every 5 min, passes only at starts, each up to 20 s late: all slots run."""
    schedule = cron("*/5 * * * *")
    planned = schedule.next_after(START)
    ran: list[datetime] = []
    for minute in range(600):
        now = START + minute * MINUTE + (minute * 7 % 20) * SECOND
        while planned is not None and planned <= now:
            due = decide(schedule, planned, now, Misfire.SKIP)
            assert due.missed is None
            ran.extend(due.run_at)
            planned = due.next_at
    assert ran == [START + n * 5 * MINUTE for n in range(1, 120)]


def test_a_thousand_slots_without_drift() -> None:
    """Case 28: interval 60 s, job 7 s, tick 10 s, and now and then a job that takes 150 s."""
    schedule = every("60s")
    now, planned = START + 3 * SECOND, START
    ran: list[datetime] = []
    while len(ran) < 1000:
        due = decide(schedule, planned, now, Misfire.ONCE) if planned <= now else None
        if due is not None:
            assert len(due.run_at) <= 2
            ran.append(due.run_at[-1])
            assert due.next_at is not None
            planned = due.next_at
            now += (150 if len(ran) % 50 == 0 else 7) * SECOND
        now += 10 * SECOND
    assert all((slot - START) % MINUTE == timedelta(0) for slot in ran)
    assert ran == sorted(set(ran))
    gaps = [(b - a) / MINUTE for a, b in pairwise(ran)]
    assert set(gaps) <= {1, 2, 3}
    assert sum(gap > 1 for gap in gaps) <= 20


def test_a_changed_schedule_waits_for_its_next_time() -> None:
    """Case 24: `0 4` becomes `0 8` at 09:00: tomorrow. Case 23: unpausing does not run the past."""
    now = local("2026-06-01 09:00", "UTC")
    assert next_on_edit(cron("0 8 * * *"), now) == local("2026-06-02 08:00", "UTC")
    assert next_on_edit(every("1h", START), now) == now + timedelta(hours=1)
    assert next_on_edit(at("2026-06-01 08:59"), now) is None


def test_a_single_time_has_no_next() -> None:
    moment = local("2026-06-01 08:00", "UTC")
    due = decide(at("2026-06-01 08:00"), moment, moment + timedelta(hours=1), Misfire.ONCE)
    assert due.run_at == (moment,)
    assert due.next_at is None


def test_a_planned_time_beside_the_grid() -> None:
    """A maintenance window moved 04:00 to 05:30: it runs, and 04:00 tomorrow is next."""
    planned = local("2026-06-01 05:30", "UTC")
    due = decide(DAILY, planned, planned + SECOND, Misfire.ONCE)
    assert due.run_at == (planned,)
    assert due.next_at == local("2026-06-02 04:00", "UTC")


@settings(deadline=None)
@given(
    st.sampled_from([MINUTELY, every("7s"), every("90m"), cron("0 */3 * * *"), DAILY]),
    st.datetimes(FIRST, LAST, timezones=st.just(UTC)),
    st.timedeltas(timedelta(0), timedelta(days=3)),
    st.sampled_from(Misfire),
    st.integers(1, 50),
)
def test_every_slot_runs_or_is_counted(
    schedule: Schedule, asked: datetime, outage: timedelta, policy: Misfire, limit: int
) -> None:
    """No silent non-run, nothing twice, and the next time is always ahead and on the grid."""
    planned = schedule.next_after(asked)
    assert planned is not None
    now = planned + outage
    due = decide(schedule, planned, now, policy, limit)
    missed = due.missed.count if due.missed else 0
    assert len(due.run_at) + missed == 1 + schedule.count(planned, now)
    assert len(due.run_at) <= limit
    assert list(due.run_at) == sorted(set(due.run_at))
    assert due.next_at is not None
    assert due.next_at > now
    assert schedule.count(now, due.next_at) == 1
    assert due.reason
    assert (due.first_missed is None) == (due.missed is None)
    if due.missed and due.run_at:
        assert schedule.next_after(due.missed.last) == due.run_at[0]
