"""Which self-protection job runs now, without waiting for its time."""

from datetime import UTC, datetime, timedelta

import pytest

from leitstand.protection.next_steps import JobState, next_steps
from leitstand.protection.protection_jobs import DRILL, FULL, INCREMENTAL, VERIFY

NOON = datetime(2026, 12, 2, 12, tzinfo=UTC)
NEVER = JobState(enabled=True, active=False, last_started=None, last_outcome=None)
ACTIVE = JobState(enabled=True, active=True, last_started=None, last_outcome=None)
DISABLED = JobState(enabled=False, active=False, last_started=None, last_outcome=None)


def ended(minutes: int, outcome: str = "succeeded") -> JobState:
    started = NOON + timedelta(minutes=minutes)
    return JobState(enabled=True, active=False, last_started=started, last_outcome=outcome)


@pytest.mark.parametrize(
    ("states", "steps"),
    [
        ({FULL: NEVER, DRILL: NEVER, VERIFY: NEVER, INCREMENTAL: NEVER}, [FULL]),
        ({FULL: ACTIVE, DRILL: NEVER, VERIFY: NEVER}, []),
        ({FULL: ended(0), DRILL: NEVER, VERIFY: NEVER}, [DRILL, VERIFY]),
        ({FULL: ended(0), DRILL: ACTIVE, VERIFY: ACTIVE}, []),
        ({FULL: ended(0), DRILL: ended(1), VERIFY: ended(2)}, []),
        ({FULL: ended(0), DRILL: ended(1), VERIFY: ended(2), INCREMENTAL: ended(3)}, [VERIFY]),
        ({FULL: ended(0, "failed"), DRILL: NEVER, VERIFY: NEVER}, []),
        ({FULL: ended(0, "failed"), INCREMENTAL: ended(1), VERIFY: NEVER}, [VERIFY]),
        ({FULL: ended(5), DRILL: ended(1, "failed"), VERIFY: ended(2, "failed")}, [VERIFY]),
        ({}, []),
        ({DRILL: NEVER, VERIFY: NEVER}, []),
        ({FULL: ended(0)}, []),
        ({FULL: DISABLED, DRILL: NEVER, VERIFY: NEVER}, []),
        ({FULL: ended(0), DRILL: DISABLED, VERIFY: DISABLED}, []),
    ],
)
def test_next_steps(states: dict[str, JobState], steps: list[str]) -> None:
    found = next_steps(states)
    assert [step.job for step in found] == steps
    assert all(step.reason for step in found)
