"""What waits, what merges, what runs when windows are open: the rule, and what `job next` says."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from leitstand.jobs import Job, Occurrence, Window, WindowPolicy, preview
from leitstand.jobs.job_ledger import DueJob
from leitstand.jobs.misfire import decide_due
from leitstand.jobs.placement import Merged, Placement, Start, place
from leitstand.jobs.schedule import build_schedule
from leitstand.jobs.splay import splay_offset
from tests.jobs.windows import HOUR, MINUTE, moment, stored_job, window

NIGHT = window("22:00", "04:00", name="night")
TEN, TWO, FOUR = (
    moment(f"2026-06-0{day} {clock}") for day, clock in ((5, "22:00"), (6, "02:00"), (6, "04:00"))
)
TOLERANCE = timedelta(seconds=70)


def decide(job: Job, windows: Sequence[Window], now: datetime | None = None) -> Placement:
    """What becomes of the job, which is due at ``now`` (its next time, if not given)."""
    assert job.next_run_at is not None
    due = DueJob(job, job.next_run_at, now or job.next_run_at, None, None, None)
    schedule = build_schedule(job.trigger, job.anchor)
    decision = decide_due(due.planned, due.now, schedule, job.misfire, TOLERANCE, 10)
    return place(due, decision, schedule, windows)


def test_an_occurrence_in_a_window_waits_for_its_end() -> None:
    placement = decide(stored_job("0 2 * * *", TWO), [NIGHT])
    assert placement.starts == ()
    assert placement.waiting is not None
    assert (placement.waiting.slot, placement.waiting.until) == (TWO, FOUR)
    assert placement.next_at == FOUR


def test_it_then_runs_for_the_slot_it_was_planned_for_and_the_next_one_is_not_lost() -> None:
    placement = decide(stored_job("0 2 * * *", FOUR, postponed_from=TWO), [NIGHT])
    assert placement.starts == (Start(TWO, FOUR),)
    assert (placement.waiting, placement.merged) == (None, None)
    assert placement.next_at == TWO + 24 * HOUR


def test_slots_that_came_meanwhile_are_part_of_the_same_run() -> None:
    placement = decide(stored_job("0 * * * *", FOUR, postponed_from=TEN), [NIGHT])
    assert placement.starts == (Start(TEN, FOUR),)
    assert placement.merged == Merged(TEN + HOUR, FOUR, 6)
    assert placement.next_at == FOUR + HOUR


def test_a_window_that_was_prolonged_moves_it_once_more() -> None:
    longer = window("22:00", "05:30", name="longer")
    placement = decide(stored_job("0 * * * *", FOUR, postponed_from=TEN), [longer])
    assert placement.starts == ()
    assert placement.waiting is not None
    assert (placement.waiting.slot, placement.next_at) == (TEN, FOUR + 90 * MINUTE)
    assert placement.merged is None  # told once, when it runs


def test_an_occurrence_found_late_runs_if_the_window_is_over() -> None:
    """Planned in a window, found after it: nothing speaks against running now."""
    placement = decide(stored_job("0 2 * * *", TWO), [NIGHT], FOUR + MINUTE)
    assert [start.slot for start in placement.starts] == [TWO]


def test_what_was_missed_before_a_window_waits_in_it() -> None:
    """The servers were away from 20:00 to 23:00: the run that makes up for it is not now."""
    placement = decide(stored_job("0 20 * * *", TEN - 2 * HOUR), [NIGHT], TEN + HOUR)
    assert placement.starts == ()
    assert placement.next_at == FOUR


def test_a_splay_that_leads_into_a_window_counts() -> None:
    """The start is what must not fall into a window, not the plan."""
    job = stored_job("0 21 * * *", TEN - HOUR, splay=4 * 3600)
    assert splay_offset("job", 4 * 3600) > 3600
    placement = decide(job, [NIGHT])
    assert placement.waiting is not None
    assert placement.next_at == FOUR


def test_what_has_waited_gives_up_its_splay_before_it_misses_the_gap() -> None:
    gap = [NIGHT, window("04:10", "21:00", name="day")]
    job = stored_job("0 2 * * *", FOUR, postponed_from=TWO, splay=4 * 3600)
    assert decide(job, gap).starts == (Start(TWO, FOUR),)


def test_nothing_allowed_keeps_the_planned_time_and_complains() -> None:
    placement = decide(stored_job("0 2 * * *", TWO), [window("00:00", "24:00")])
    assert placement.starts == (Start(TWO, TWO),)
    assert placement.unheeded is not None


def test_a_job_for_windows_only_waits_until_one_is_known() -> None:
    job = stored_job("0 2 * * *", TWO, policy=WindowPolicy.ONLY)
    placement = decide(job, [])
    assert placement.starts == ()
    assert placement.waiting is not None
    assert (placement.waiting.slot, placement.waiting.until) == (TWO, None)
    assert placement.next_at == TWO + 24 * HOUR  # looked at again, and by then one occurrence
    later = stored_job("0 2 * * *", TWO + 24 * HOUR, TWO, WindowPolicy.ONLY)
    assert decide(later, []).starts == ()
    assert decide(later, [NIGHT]).starts == (Start(TWO, TWO + 24 * HOUR),)
    assert decide(later, [NIGHT]).merged == Merged(TWO + 24 * HOUR, TWO + 24 * HOUR, 1)


def test_next_shows_each_postponement_with_its_reason() -> None:
    occurrences = preview(stored_job("0 */3 * * *", TEN - HOUR), TEN - 2 * HOUR, 4, [NIGHT])
    by_night = "postponed by window night to 2026-06-06 04:00:00 UTC"
    assert occurrences == [
        Occurrence(TEN - HOUR, TEN - HOUR),
        Occurrence(TEN + 2 * HOUR, FOUR, by_night, merged=1),
        Occurrence(FOUR + 2 * HOUR, FOUR + 2 * HOUR),
        Occurrence(FOUR + 5 * HOUR, FOUR + 5 * HOUR),
    ]


def test_next_begins_with_the_occurrence_that_waits() -> None:
    job = stored_job("0 * * * *", FOUR, postponed_from=TEN)
    first, second = preview(job, TEN + 90 * MINUTE, 2, [NIGHT])
    assert (first.planned_at, first.start_at, first.merged) == (TEN, FOUR, 6)
    assert first.moved == "postponed by window night to 2026-06-06 04:00:00 UTC"
    assert second.planned_at == FOUR + HOUR


def test_next_of_a_job_that_waits_for_an_unknown_window() -> None:
    job = stored_job("0 2 * * *", TWO, policy=WindowPolicy.ONLY)
    (only,) = preview(job, TEN, 5, [])
    assert only.start_at is None
    assert only.moved == "no window that it may run in opens within 366 days"


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["*/7 * * * *", "0 * * * *", "30 1,22 * * *", "0 2 * * *"]),
    st.lists(
        st.tuples(st.integers(0, 23), st.integers(1, 10)).map(
            lambda part: window(f"{part[0]:02}:00", f"{(part[0] + part[1]) % 24:02}:30")
        ),
        max_size=2,
    ),
    st.sampled_from(list(WindowPolicy)),
)
def test_next_foretells_what_the_scheduler_does(
    schedule: str, windows: list[Window], policy: WindowPolicy
) -> None:
    first = build_schedule(stored_job(schedule, None).trigger, TWO).next_after(TWO)
    assert first is not None
    job = stored_job(schedule, first, policy=policy)
    foretold = [(each.planned_at, each.start_at) for each in preview(job, TWO, 6, windows)]
    assert carried_out(job, windows, len(foretold)) == [pair for pair in foretold if pair[1]]


def carried_out(job: Job, windows: list[Window], count: int) -> list[tuple[datetime, datetime]]:
    """Slot and start of the next runs, when a server looks at the job at each of its times."""
    runs: list[tuple[datetime, datetime]] = []
    for _ in range(2 * count):
        placement = decide(job, windows)
        runs += [(start.slot, start.not_before) for start in placement.starts]
        waits = placement.waiting.slot if placement.waiting else None
        job = stored_job(job.trigger.expression, placement.next_at, waits, job.window_policy)
    return runs[:count]
