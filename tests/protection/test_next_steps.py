"""Which self-protection job runs now, without waiting for its time."""

from datetime import UTC, datetime, timedelta

import pytest

from leitstand.protection.next_steps import Evidence, JobState, next_steps
from leitstand.protection.protection_jobs import DRILL, FULL, INCREMENTAL, SELFTEST, VERIFY

NOON = datetime(2026, 12, 2, 12, tzinfo=UTC)
NEVER = JobState(enabled=True, active=False, last_started=None, last_outcome=None)
ACTIVE = JobState(enabled=True, active=True, last_started=None, last_outcome=None)
DISABLED = JobState(enabled=False, active=False, last_started=None, last_outcome=None)


def ended(minutes: int, outcome: str = "succeeded") -> JobState:
    started = NOON + timedelta(minutes=minutes)
    return JobState(enabled=True, active=False, last_started=started, last_outcome=outcome)


NOTHING = Evidence(backup=False, drill=False)
BACKUP = Evidence(backup=True, drill=False)
PROVEN = Evidence(backup=True, drill=True)


@pytest.mark.parametrize(
    ("states", "evidence", "steps"),
    [
        ({FULL: NEVER, DRILL: NEVER, VERIFY: NEVER, INCREMENTAL: NEVER}, NOTHING, [FULL]),
        ({FULL: ACTIVE, DRILL: NEVER, VERIFY: NEVER}, NOTHING, []),
        ({FULL: ended(0), DRILL: NEVER, VERIFY: NEVER}, BACKUP, [DRILL, VERIFY]),
        ({FULL: ended(0), DRILL: ACTIVE, VERIFY: ACTIVE}, BACKUP, []),
        ({FULL: ended(0), DRILL: ended(1), VERIFY: ended(2)}, PROVEN, []),
        ({FULL: ended(0), VERIFY: ended(2), INCREMENTAL: ended(3)}, PROVEN, [VERIFY]),
        ({FULL: ended(0, "failed"), DRILL: NEVER, VERIFY: NEVER}, NOTHING, []),
        ({FULL: ended(0, "failed"), INCREMENTAL: ended(1), VERIFY: NEVER}, PROVEN, [VERIFY]),
        ({FULL: ended(5), DRILL: ended(1, "failed"), VERIFY: ended(2, "failed")}, BACKUP, [VERIFY]),
        # Another directory or another server: what ran before proves nothing there.
        ({FULL: ended(0), DRILL: ended(1), VERIFY: ended(2)}, NOTHING, [FULL]),
        ({FULL: ended(3), DRILL: ended(1), VERIFY: ended(4)}, BACKUP, [DRILL]),
        ({FULL: ended(0, "cancelled"), DRILL: NEVER, VERIFY: NEVER}, NOTHING, [FULL]),
        ({SELFTEST: NEVER}, NOTHING, []),
        ({SELFTEST: NEVER}, BACKUP, [SELFTEST]),
        ({SELFTEST: ended(0)}, PROVEN, []),
        ({}, NOTHING, []),
        ({DRILL: NEVER, VERIFY: NEVER}, NOTHING, []),
        ({FULL: ended(0)}, BACKUP, []),
        ({FULL: DISABLED, DRILL: NEVER, VERIFY: NEVER}, NOTHING, []),
        ({FULL: ended(0), DRILL: DISABLED, VERIFY: DISABLED}, BACKUP, []),
    ],
)
def test_next_steps(states: dict[str, JobState], evidence: Evidence, steps: list[str]) -> None:
    found = next_steps(states, evidence)
    assert [step.job for step in found] == steps
    assert all(step.reason for step in found)
