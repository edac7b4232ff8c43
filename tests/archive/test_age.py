"""Ages by clocks that may be wrong."""

from datetime import UTC, datetime, timedelta

from leitstand.archive.age import age_of_newest

NOW = datetime(2026, 12, 3, tzinfo=UTC)


def test_what_is_dated_in_the_future_is_no_evidence() -> None:
    """Case 38; a few seconds between two machines are none of it."""
    yesterday, next_year = NOW - timedelta(days=1), NOW + timedelta(days=365)
    assert age_of_newest([yesterday, next_year, None], NOW) == 86400
    assert age_of_newest([next_year], NOW) is None
    assert age_of_newest([NOW + timedelta(seconds=30)], NOW) == 0
    assert age_of_newest([], NOW) is None
