"""The shapes of the API's documents, for its description; values write them by ``as_dict``.

A test compares the two.
"""

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

T = TypeVar("T")


class ItemsOf(BaseModel, Generic[T]):
    """A page of a list; ``next`` is the cursor of the page after it, null on the last one."""

    items: list[T]
    next: str | None


class TriggerShape(BaseModel):
    """What starts a job: ``cron``, ``every``, ``at``, ``manual`` or ``event``."""

    type: str
    expression: str | None
    timezone: str
    event: str | None


class RetryShape(BaseModel):
    """How often and how soon (seconds) a transient failure is tried again."""

    max_attempts: int
    backoff: float


class JobShape(BaseModel):
    """A job; times in UTC, durations in seconds."""

    name: str
    kind: str
    params: dict[str, Any] = Field(description="Secrets are masked.")
    trigger: TriggerShape
    enabled: bool
    managed: bool = Field(description="A file was the last to write it.")
    tenant: str
    tags: list[str]
    host: str | None
    runs_on: list[str] = Field(description="Name or tags of the agent that may run it.")
    priority: int
    group: str | None
    timeout: float | None
    depends_on: list[str]
    retry: RetryShape
    misfire: str
    deliver: str
    overlap: str
    window_policy: str
    splay: float
    resume: bool
    next_run_at: datetime | None
    postponed_from: datetime | None
    schedule_error: str | None
    last_run_at: datetime | None
    last_outcome: str | None
    skipped_runs: int
    unknown_event: bool


class RunTriggerShape(BaseModel):
    """Who or what started a run: ``schedule``, ``event``, ``user``, ``retry`` or ``startup``."""

    by: str
    user: str | None
    event: dict[str, Any] | None


class ProgressShape(BaseModel):
    """How far a run is."""

    percent: float | None
    message: str | None


class RunShape(BaseModel):
    """A run: one attempt to carry out a job."""

    id: int
    job: str
    kind: str
    status: str = Field(
        description="queued, running, succeeded, partial_failure, failed or cancelled"
    )
    attempt: int
    correlation_id: str = Field(description="The same for all attempts of one occurrence.")
    trigger: RunTriggerShape
    scheduled_at: datetime
    queued_at: datetime
    not_before: datetime
    priority: int
    runs_on: list[str]
    started_at: datetime | None
    finished_at: datetime | None
    duration: float | None
    owner: str | None
    fencing_token: int | None
    heartbeat_at: datetime | None
    cancel_requested_at: datetime | None
    progress: ProgressShape
    bytes_processed: int
    bytes_written: int
    objects_processed: int
    objects_skipped: int
    skip_reasons: list[str]
    error_code: str | None
    error_message: str | None
    error_detail: str | None
    failure_class: str | None
    next_attempt_at: datetime | None
    no_retry_reason: str | None
    result: dict[str, Any] | None


class LateResultShape(BaseModel):
    """A result that came after the lease was lost."""

    fencing_token: int
    recorded_at: datetime
    outcome: dict[str, Any]


class RunDetailShape(RunShape):
    """A run with what came too late to count."""

    late_results: list[LateResultShape]


class LogPieceShape(BaseModel):
    """One or more lines of a log."""

    id: int
    time: datetime
    text: str


class LogShape(BaseModel):
    """A part of a log; ``next`` is null once the run has ended and all was read."""

    items: list[LogPieceShape]
    next: int | None
    status: str


class OccurrenceShape(BaseModel):
    """A time for which a run is planned, and when it starts; ``moved`` says why not then."""

    planned_at: datetime
    start_at: datetime
    moved: str | None
    merged: int


class NonRunShape(BaseModel):
    """An occurrence that led to no run, or not yet."""

    job: str
    scheduled_at: datetime
    reason: str
    detail: str
    until: datetime | None
    count: int


class WhyShape(BaseModel):
    """Why a job did not run: sentences, and the records that they rest on."""

    job: str
    at: datetime | None
    answer: list[str]
    non_runs: list[NonRunShape]
    runs: list[RunShape]


class GroupShape(BaseModel):
    """A group of jobs, and what runs and waits in it over all servers."""

    name: str
    limit: int
    running: int
    waiting: int


class WindowShape(BaseModel):
    """A maintenance window: weekly (times of day) or dated (times in UTC)."""

    name: str
    days: list[str]
    begin: datetime | str = Field(alias="from")
    end: datetime | str = Field(alias="to")
    timezone: str
    jobs: list[str]
    tags: list[str]
    hosts: list[str]
    reason: str
    managed: bool


class ServerShape(BaseModel):
    """A control server; ``silent_for`` and ``clock_skew`` are seconds."""

    instance: str
    host: str
    pid: int
    version: str
    started_at: datetime
    heartbeat_at: datetime
    silent_for: float
    clock_skew: float
    draining: bool
    max_concurrent_runs: int
    running: int
    state: str = Field(description="alive, draining, stale or gone")


class AgentShape(BaseModel):
    """A remote agent; ``silent_for`` is seconds."""

    instance: str
    name: str
    host: str
    pid: int
    version: str
    kinds: list[str]
    tags: list[str]
    slots: int = Field(description="Runs of each kind at a time.")
    started_at: datetime
    heartbeat_at: datetime
    silent_for: float
    running: dict[str, int] = Field(description="Runs by kind.")


class DrainingShape(BaseModel):
    """Servers that take no more runs, and how many they still carry out."""

    draining: list[str]
    running: int


class FindingShape(BaseModel):
    """What is wrong with a backup, and where."""

    stage: str
    file: str
    problem: str
    kind: str


class IncrementShape(BaseModel):
    """An increment of a generation."""

    id: str
    parent: str | None
    size: int
    started_at: datetime | None
    finished_at: datetime | None
    ok: bool
    drilled_at: datetime | None


class GenerationShape(BaseModel):
    """A full backup and the increments that build on it; ``size`` is in bytes."""

    generation: str
    state: str = Field(description="complete, damaged or incomplete")
    size: int
    started_at: datetime | None
    finished_at: datetime | None
    verified_at: datetime | None
    drilled_at: datetime | None
    increments: list[IncrementShape]
    findings: list[FindingShape]


class DrillShape(BaseModel):
    """A restore drill; ``recovery_time`` and ``recovery_point_age`` are seconds."""

    timestamp: datetime
    kind: str
    source: str
    success: bool
    detail: str
    recovery_time: float | None
    recovery_point_age: float | None
    phases: dict[str, float]
    canaries: dict[str, Any]


class CheckShape(BaseModel):
    """How a readiness check went: ``error`` if not well, a ``warning`` now and then if well."""

    ok: bool
    error: str | None = None
    warning: str | None = None


class HealthShape(BaseModel):
    """Whether the server is ready: ``ready`` or ``not_ready``, and each check."""

    status: str
    checks: dict[str, CheckShape]


class TenantShape(BaseModel):
    """A tenant; its status is `provisioning`, `active`, `deleting` or `failed_cleanup`."""

    slug: str
    name: str
    database: str
    status: str
    created_at: datetime
    drop_at: datetime | None


class SettingShape(BaseModel):
    """One version of a value."""

    key: str
    scope: str
    value: Any
    version: int
    changed_at: datetime
    changed_by: str


class TokenShape(BaseModel):
    """An API token, without its secret."""

    name: str
    role: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewTokenShape(TokenShape):
    """A token that has just been made."""

    token: str = Field(description="The secret; it is shown this once.")


class ProblemShape(BaseModel):
    """Problem details of RFC 9457, with a stable code and what to do."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: str | None
