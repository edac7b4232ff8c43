"""The events that tell how runs ended."""

from collections.abc import Iterator, Mapping
from typing import Any

from leitstand.events.catalogue import OF_A_JOB, CatalogueEntry
from leitstand.events.event import NewEvent

SOURCE = "runs"

MESSAGE_LIMIT = 4_000
"""Characters of an error's message: the end of a run is never lost for the sake of its event."""

FIELDS = {
    "run": "the run's number",
    "job": "the job's name",
    "kind": "the job's kind",
    "status": "how it ended",
    "attempt": "which attempt it was, counted from 1",
    "error_code": "the code of the error, or null",
    "error_message": "the error in a sentence, or null",
    "next_attempt_at": "when it is tried again, or null",
}

_MEANINGS = {
    "succeeded": "a run succeeded",
    "partial_failure": "a run did a part of its work only",
    "failed": "an attempt failed; next_attempt_at says whether another follows",
    "cancelled": "a run was cancelled while it was running",
}


def outcome_entries() -> Iterator[CatalogueEntry]:
    """What the catalogue says about them: for any job, and for a certain one."""
    for status, meaning in _MEANINGS.items():
        name = f"run.{status}"
        yield CatalogueEntry(name, f"{meaning}, of any other job", SOURCE, FIELDS)
        yield CatalogueEntry(name + OF_A_JOB, f"{meaning}, of the job JOB", SOURCE, FIELDS)


def outcome_event(row: Mapping[str, Any]) -> NewEvent:
    """The event for a row that ``outcomes_listened_to`` returns."""
    payload = {field: row[field] for field in FIELDS}
    payload["error_message"] = (row["error_message"] or "")[:MESSAGE_LIMIT] or None
    return NewEvent(row["event_name"], SOURCE, payload, row["finished_at"], row["tenant"])
