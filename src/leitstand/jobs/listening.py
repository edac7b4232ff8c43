"""Which jobs listen to which events, and whether anything produces those."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leitstand.jobs.job import Job


@dataclass(frozen=True)
class Listening:
    """A job that an event starts; ``unknown_event``: nothing here produces that."""

    event: str
    job: str
    tenant: str
    enabled: bool
    deliver: str
    unknown_event: bool

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        return vars(self).copy()


def listening_jobs(jobs: Iterable[Job]) -> list[Listening]:
    """Those of the jobs that an event starts, by the event's name."""
    found = [
        Listening(
            job.trigger.event,
            job.name,
            job.tenant,
            job.enabled,
            job.deliver.value,
            job.unknown_event,
        )
        for job in jobs
        if job.trigger.event is not None
    ]
    return sorted(found, key=lambda each: (each.event, each.job))
