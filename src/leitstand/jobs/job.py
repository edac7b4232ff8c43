"""A job as it is stored, and the typed form in which people write one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from leitstand.duration import DurationError, format_duration, parse_duration
from leitstand.events import EventName
from leitstand.jobs.misfire import Misfire
from leitstand.jobs.thing_name import ThingName
from leitstand.jobs.trigger import Trigger, TriggerType
from leitstand.masking import mask_value


class Overlap(StrEnum):
    """What happens to an occurrence while another run of the job is active."""

    SKIP = "skip"
    """It gets no run, and a row that says why."""
    QUEUE = "queue"
    """One run waits until the active one has ended; further occurrences are skipped."""
    ALLOW = "allow"
    """Runs of this job may run side by side."""


class Deliver(StrEnum):
    """What a run gets of the events that start its job."""

    NEWEST = "newest"
    """All that wait, as one: the newest payload, and how many there were."""
    EACH = "each"
    """One event; the next one's run follows when it has ended."""


class WindowPolicy(StrEnum):
    """What a maintenance window means for a job."""

    POSTPONE = "postpone"
    """Not now: an occurrence that is due in a window runs when it is over."""
    RUN = "run"
    """Nothing."""
    ONLY = "only"
    """Now or never: occurrences run inside a window alone, and wait for one to open."""


def _seconds(value: object) -> object:
    if isinstance(value, bool):  # a number to Python
        raise ValueError("true and false are no durations")  # noqa: TRY004 -- for pydantic
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except DurationError as error:
        raise ValueError(f"{error.message}. {error.remedy}") from error


def _written(seconds: float | None) -> str | float | None:
    """As one would write it; a number where that would not say the same."""
    if seconds is None or parse_duration(text := format_duration(seconds)) != seconds:
        return seconds
    return text


Duration = Annotated[
    float,
    BeforeValidator(_seconds),
    Field(allow_inf_nan=False),
    PlainSerializer(_written, when_used="json"),
]
"""Seconds, also written as ``"90s"``, ``"5m"`` or ``"1h30m"``."""


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("write a table, or one as JSON text") from None


Parameters = Annotated[dict[str, Any], BeforeValidator(_from_json)]
"""A table, also written as JSON text: TOML has no null."""


Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9:._-]{0,99}$")]
"""The name or a tag of an agent."""


class Retry(BaseModel):
    """How often and how soon a transient failure is tried again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_attempts: int = Field(default=3, ge=1, le=100)
    backoff: Duration = Field(default=60.0, ge=0)


class JobSpec(BaseModel):
    """A job as people write it: a ``[[job]]`` table, or the API's body.

    At most one of ``schedule`` (cron), ``every``, ``at`` and ``event`` is given; none makes a job
    that runs only on request.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ThingName
    kind: str
    params: Parameters = Field(default_factory=dict)
    schedule: str | None = None
    every: str | None = None
    at: str | None = None
    event: EventName | None = None
    deliver: Deliver = Deliver.NEWEST
    timezone: str = "UTC"
    enabled: bool = True
    tenant: str = "main"
    tags: tuple[str, ...] = ()
    host: str | None = None
    runs_on: tuple[Word, ...] = ()
    priority: int = Field(default=0, ge=-1000, le=1000)
    group: ThingName | None = None
    timeout: Duration | None = Field(default=None, gt=0)
    depends_on: tuple[str, ...] = ()
    retry: Retry = Retry()
    misfire: Misfire = Misfire.ONCE
    misfire_limit: int = Field(default=10, ge=1, le=1000)
    overlap: Overlap = Overlap.SKIP
    window_policy: WindowPolicy = WindowPolicy.POSTPONE
    splay: Duration = Field(default=0.0, ge=0)
    resume: bool = False

    @model_validator(mode="after")
    def _one_trigger(self) -> Self:
        given = [k for k in ("schedule", "every", "at", "event") if getattr(self, k) is not None]
        if len(given) > 1:
            raise ValueError(f"only one of {', '.join(given)} can start a job")
        if self.event is None and self.deliver is not Deliver.NEWEST:
            raise ValueError("deliver is for a job that an event starts")
        return self

    @property
    def trigger(self) -> Trigger:
        """What starts the job."""
        if self.schedule is not None:
            return Trigger(TriggerType.CRON, self.schedule, self.timezone)
        if self.every is not None:
            return Trigger(TriggerType.EVERY, self.every, self.timezone)
        if self.at is not None:
            return Trigger(TriggerType.AT, self.at, self.timezone)
        if self.event is not None:
            return Trigger(TriggerType.EVENT, "", self.timezone, self.event)
        return Trigger(TriggerType.MANUAL, "", self.timezone)


def trigger_of(row: Mapping[str, Any]) -> Trigger:
    """The trigger from a row of ``jobs``."""
    return Trigger(
        TriggerType(row["trigger_type"]), row["expression"], row["timezone"], row["event"]
    )


@dataclass(frozen=True)
class Job:
    """A job as it is stored; the fields carry the names of their columns."""

    id: int
    name: str
    tenant: str
    kind: str
    params: Mapping[str, Any]
    trigger: Trigger
    anchor: datetime
    enabled: bool
    managed: bool
    tags: tuple[str, ...]
    host: str | None
    runs_on: tuple[str, ...]
    priority: int
    group: str | None
    timeout: float | None
    depends_on: tuple[str, ...]
    max_attempts: int
    backoff: float
    misfire: Misfire
    misfire_limit: int
    overlap: Overlap
    window_policy: WindowPolicy
    splay: float
    resume: bool
    next_run_at: datetime | None
    postponed_from: datetime | None
    schedule_error: str | None
    skipped_runs: int
    last_run_at: datetime | None
    last_outcome: str | None
    deliver: Deliver = Deliver.NEWEST
    unknown_event: bool = False

    @property
    def exclusive(self) -> bool:
        """Whether at most one run of this job may be active."""
        return self.overlap is not Overlap.ALLOW

    @property
    def shown_params(self) -> object:
        """The parameters as they may be shown."""
        return mask_value("params", self.params)

    @property
    def holds_secrets(self) -> bool:
        """Whether its parameters hold what is masked when they are shown."""
        return self.shown_params != self.params

    @property
    def spec(self) -> JobSpec:
        """The job as one would write it; saving it changes nothing."""
        expression = self.trigger.expression
        by = self.trigger.type
        return JobSpec(
            name=self.name,
            kind=self.kind,
            params=dict(self.params),
            schedule=expression if by is TriggerType.CRON else None,
            every=expression if by is TriggerType.EVERY else None,
            at=expression if by is TriggerType.AT else None,
            event=self.trigger.event,
            deliver=self.deliver,
            timezone=self.trigger.timezone,
            enabled=self.enabled,
            tenant=self.tenant,
            tags=self.tags,
            host=self.host,
            runs_on=self.runs_on,
            priority=self.priority,
            group=self.group,
            timeout=self.timeout,
            depends_on=self.depends_on,
            retry=Retry(max_attempts=self.max_attempts, backoff=self.backoff),
            misfire=self.misfire,
            misfire_limit=self.misfire_limit,
            overlap=self.overlap,
            window_policy=self.window_policy,
            splay=self.splay,
            resume=self.resume,
        )

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A job from a row of ``jobs`` with the columns that ``jobs.sql`` adds."""
        return cls(
            id=row["id"],
            name=row["name"],
            tenant=row["tenant"],
            kind=row["kind"],
            params=row["params"],
            trigger=trigger_of(row),
            anchor=row["anchor"],
            enabled=row["enabled"],
            managed=row["managed"],
            tags=tuple(row["tags"]),
            host=row["host"],
            runs_on=tuple(row["runs_on"]),
            priority=row["priority"],
            group=row["group_name"],
            timeout=row["timeout"],
            depends_on=tuple(row["depends_on"]),
            max_attempts=row["max_attempts"],
            backoff=row["backoff"],
            misfire=Misfire(row["misfire"]),
            misfire_limit=row["misfire_limit"],
            overlap=Overlap(row["overlap"]),
            window_policy=WindowPolicy(row["window_policy"]),
            splay=row["splay"],
            resume=row["resume"],
            next_run_at=row["next_run_at"],
            postponed_from=row["postponed_from"],
            schedule_error=row["schedule_error"],
            skipped_runs=row["skipped_runs"],
            last_run_at=row["last_run_at"],
            last_outcome=row["last_outcome"],
            deliver=Deliver(row["deliver"]),
        )

    def as_dict(self) -> dict[str, Any]:
        """The job's JSON shape; what is secret among the parameters is masked."""
        return {
            "name": self.name,
            "kind": self.kind,
            "params": self.shown_params,
            "trigger": self.trigger.as_dict(),
            "enabled": self.enabled,
            "managed": self.managed,
            "tenant": self.tenant,
            "tags": list(self.tags),
            "host": self.host,
            "runs_on": list(self.runs_on),
            "priority": self.priority,
            "group": self.group,
            "timeout": self.timeout,
            "depends_on": list(self.depends_on),
            "retry": {"max_attempts": self.max_attempts, "backoff": self.backoff},
            "misfire": self.misfire.value,
            "deliver": self.deliver.value,
            "overlap": self.overlap.value,
            "window_policy": self.window_policy.value,
            "splay": self.splay,
            "resume": self.resume,
            "next_run_at": self.next_run_at,
            "postponed_from": self.postponed_from,
            "schedule_error": self.schedule_error,
            "last_run_at": self.last_run_at,
            "last_outcome": self.last_outcome,
            "skipped_runs": self.skipped_runs,
            "unknown_event": self.unknown_event,
        }
