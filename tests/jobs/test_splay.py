"""Splay: stable, within its bounds, even."""

from hypothesis import given
from hypothesis import strategies as st

from leitstand.jobs.splay import splay_offset


@given(st.text(), st.floats(0.001, 1e9))
def test_offset_is_within_the_splay_and_always_the_same(name: str, splay: float) -> None:
    offset = splay_offset(name, splay)
    assert 0 <= offset < splay
    assert offset == splay_offset(name, splay)


def test_no_splay_no_offset() -> None:
    assert splay_offset("backup", 0) == 0


def test_offset_is_pinned() -> None:
    """A change would move the start of every job that has a splay."""
    assert round(splay_offset("nightly-backup", 600), 3) == 35.701


def test_a_thousand_jobs_spread_evenly() -> None:
    """No tenth of the splay holds more than half again its share of 1,000 jobs."""
    tenths = [0] * 10
    for number in range(1000):
        tenths[int(splay_offset(f"backup-{number}", 10))] += 1
    assert min(tenths) > 60
    assert max(tenths) < 150
