"""A run: one attempt to carry out a job, as it is stored and shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from leitstand.execution import Lease
from leitstand.jobs.run_status import RunStatus


@dataclass(frozen=True)
class Run:
    """A run as it is stored; the fields carry the names of their columns."""

    id: int
    job_id: int | None
    job: str
    kind: str
    status: RunStatus
    attempt: int
    correlation_id: UUID
    trigger_by: str
    trigger_user: str | None
    event: Mapping[str, Any] | None
    scheduled_at: datetime
    queued_at: datetime
    not_before: datetime
    priority: int
    runs_on: tuple[str, ...] | None
    started_at: datetime | None
    finished_at: datetime | None
    owner: str | None
    fencing_token: int | None
    heartbeat_at: datetime | None
    cancel_requested_at: datetime | None
    progress_percent: float | None
    progress_message: str | None
    bytes_processed: int
    bytes_written: int
    objects_processed: int
    objects_skipped: int
    skip_reasons: tuple[str, ...]
    error_code: str | None
    error_message: str | None
    error_detail: str | None
    failure_class: str | None
    next_attempt_at: datetime | None
    no_retry_reason: str | None
    result: Mapping[str, Any] | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A run from a row of ``runs``; further columns are ignored."""
        fields = {name: row[name] for name in cls.__dataclass_fields__}
        fields["status"] = RunStatus(row["status"])
        fields["skip_reasons"] = tuple(row["skip_reasons"])
        fields["runs_on"] = tuple(row["runs_on"]) if row["runs_on"] else None
        return cls(**fields)

    @property
    def duration(self) -> float | None:
        """Seconds from start to end; None before the end, or when it never started."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()

    def as_dict(self) -> dict[str, Any]:
        """The run's JSON shape."""
        return {
            "id": self.id,
            "job": self.job,
            "kind": self.kind,
            "status": self.status.value,
            "attempt": self.attempt,
            "correlation_id": str(self.correlation_id),
            "trigger": {
                "by": self.trigger_by,
                "user": self.trigger_user,
                "event": self.event,
            },
            "scheduled_at": self.scheduled_at,
            "queued_at": self.queued_at,
            "not_before": self.not_before,
            "priority": self.priority,
            "runs_on": list(self.runs_on or ()),
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "duration": self.duration,
            "owner": self.owner,
            "fencing_token": self.fencing_token,
            "heartbeat_at": self.heartbeat_at,
            "cancel_requested_at": self.cancel_requested_at,
            "progress": {"percent": self.progress_percent, "message": self.progress_message},
            "bytes_processed": self.bytes_processed,
            "bytes_written": self.bytes_written,
            "objects_processed": self.objects_processed,
            "objects_skipped": self.objects_skipped,
            "skip_reasons": list(self.skip_reasons),
            "error_code": self.error_code,
            "error_message": self.error_message,
            "error_detail": self.error_detail,
            "failure_class": self.failure_class,
            "next_attempt_at": self.next_attempt_at,
            "no_retry_reason": self.no_retry_reason,
            "result": self.result,
        }


@dataclass(frozen=True)
class StartedRun:
    """A run that this server has just claimed, with what its job said at that moment."""

    lease: Lease
    job: str
    kind: str
    attempt: int
    failures_before: int
    priority: int
    correlation_id: UUID
    scheduled_at: datetime
    event: Mapping[str, Any] | None
    job_found: bool
    params: Mapping[str, Any]
    timeout: float | None
    depends_on: tuple[str, ...]
    max_attempts: int
    backoff: float
    resume: bool

    @property
    def order(self) -> tuple[int, datetime, int]:
        """The place among the runs to start: by priority, then planned time, then id."""
        return -self.priority, self.scheduled_at, self.lease.run_id

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row that ``start_runs`` returns."""
        return cls(
            lease=Lease(row["id"], row["fencing_token"]),
            job=row["job"],
            kind=row["kind"],
            attempt=row["attempt"],
            failures_before=row["failures_before"],
            priority=row["priority"],
            correlation_id=row["correlation_id"],
            scheduled_at=row["scheduled_at"],
            event=row["event"],
            job_found=row["job_found"],
            params=row["params"] or {},
            timeout=row["timeout"],
            depends_on=tuple(row["depends_on"] or ()),
            max_attempts=row["max_attempts"] or 1,
            backoff=row["backoff"] or 0.0,
            resume=bool(row["resume"]),
        )
