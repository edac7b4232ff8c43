"""The shapes of the API's documents about downtimes; a test compares them with the answers."""

from datetime import datetime

from pydantic import BaseModel, Field


class DowntimeShape(BaseModel):
    """A downtime that the core has; columns as in the tables, times in UTC, durations seconds."""

    kind: str = Field(description="host or service")
    hostname: str
    service_description: str | None
    node_name: str
    internal_downtime_id: int
    scheduled_start_time: datetime | None
    scheduled_end_time: datetime | None
    entry_time: datetime | None
    author_name: str | None
    comment_data: str | None
    triggered_by_id: int | None
    is_fixed: bool
    duration: int | None
    was_started: bool
    actual_start_time: datetime | None
    state: str = Field(
        description="scheduled, running, overdue; of the past also ended, cancelled, never_started,"
        " reaped"
    )
    until: datetime | None = Field(description="When it ends, or would have ended, by itself.")
    closed_at: datetime | None = Field(description="When it was deleted, or closed by Leitstand.")


class PastDowntimeShape(DowntimeShape):
    """A downtime of the history."""

    actual_end_time: datetime | None
    was_cancelled: bool


class DowntimeStatusShape(BaseModel):
    """Whether a host, or a service on it, is in downtime now, and until when."""

    host: str
    service: str | None
    in_downtime: bool
    until: datetime | None
    downtimes: list[DowntimeShape]


class DeadLetterShape(BaseModel):
    """A message that could not be used; ``size`` is in bytes."""

    id: int
    source: str
    reason: str
    detail: str
    size: int
    deliveries: int
    first_seen_at: datetime
    last_seen_at: datetime


class DeadLetterDetailShape(DeadLetterShape):
    """The same with the first 4 KiB of the message."""

    body: str


class ReplayShape(BaseModel):
    """What became of the messages that were taken in again."""

    applied: int
    ignored: int
    rejected: int
    reasons: dict[str, int] = Field(description="How many were rejected, by reason.")
    ignored_reasons: dict[str, int]
