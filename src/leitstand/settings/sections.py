"""The sections of the configuration: every setting's name, type, default and meaning."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticUseDefault

from leitstand.duration import parse_duration
from leitstand.errors import LeitstandError


class SecretUrl(SecretStr):
    """A URL or connection string that may hold a password; shown with the password masked."""


def _seconds(value: object) -> object:
    if isinstance(value, bool):  # a number to Python
        raise ValueError("true and false are no durations")  # noqa: TRY004  # for pydantic
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except LeitstandError as error:
        raise ValueError(error.message) from error


def _default_unless_positive(value: float) -> float:
    if value <= 0:
        raise PydanticUseDefault
    return value


def _not_negative(value: int) -> int:
    return max(value, 0)


def _one_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError("it holds characters that cannot be shown")
    return value


def _none_empty(values: tuple[str, ...]) -> tuple[str, ...]:
    if not all(value.strip() for value in values):
        raise ValueError("one of them is empty")
    return values


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _lowered(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Duration = Annotated[float, BeforeValidator(_seconds), Field(allow_inf_nan=False)]
"""Seconds; read from ``"10s"``, ``"1h30m"`` or a number of seconds."""

Deadline = Annotated[Duration, Field(gt=0)]
Promise = Annotated[Duration, Field(ge=0)]
DurationOrDefault = Annotated[Duration, AfterValidator(_default_unless_positive)]
CountOrDefault = Annotated[int, AfterValidator(_default_unless_positive)]
Kept = Annotated[int, AfterValidator(_not_negative)]
"""How many to keep; a negative number counts as 0."""

Line = Annotated[str, AfterValidator(_one_line)]
"""Text that can be stored and shown anywhere: no control characters, no bytes that are no text."""


def _named(pattern: str, signs: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(
                f"it has letters (a-z), digits and {signs}, and begins with a letter or a digit"
            )
        return value

    return check


_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"

Name = Annotated[str, AfterValidator(_named(_NAME, ". _ -"))]
NameOrNone = Annotated[str, AfterValidator(_named(f"({_NAME})?", ". _ -"))]
NameOfEvent = Annotated[
    str, AfterValidator(_named(r"[A-Za-z0-9][A-Za-z0-9:._/-]{0,199}", ": . _ / -"))
]

Cron = Annotated[str, Field(min_length=1)]
"""A cron expression; the scheduler checks it when the job is saved."""

Entry = Mapping[str, Any]
"""A table of a list section as it stands in the file; its domain package gives it a type."""


class Section(BaseModel):
    """A table of the configuration; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ServerSettings(Section):
    """``[server]``: this control server."""

    listen: str = Field("127.0.0.1:8080", pattern=r"^(\[[0-9a-fA-F:.]+\]|[^:\s]*):\d{1,5}$")
    instance: Line = ""
    data_dir: Path = Path("var")
    node_name: Line = "leitstand"

    @field_validator("listen")
    @classmethod
    def _port_exists(cls, listen: str) -> str:
        if int(listen.rpartition(":")[2]) > 65535:
            raise ValueError("a port is at most 65535")
        return listen

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of ``listen``; an empty host means every interface."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class DatabaseSettings(Section):
    """``[database]``: the control database; an empty url means the embedded PostgreSQL."""

    url: SecretUrl = SecretUrl("")
    pool_size: int = Field(10, ge=3)
    timeout: Deadline = 5.0


class LoopSettings(Section):
    """``[loop]``: how a control server claims and runs jobs; 0 and less mean the default."""

    tick: DurationOrDefault = 10.0
    max_concurrent_runs: CountOrDefault = 4
    heartbeat: DurationOrDefault = 30.0
    stale_after: DurationOrDefault = 300.0
    shutdown_grace: DurationOrDefault = 30.0
    misfire_grace: DurationOrDefault = 60.0

    @model_validator(mode="after")
    def _stale_after_the_heartbeat(self) -> "LoopSettings":
        if self.stale_after <= self.heartbeat:
            raise ValueError(
                f"loop.stale_after ({self.stale_after:g} s) must be greater than "
                f"loop.heartbeat ({self.heartbeat:g} s), or every healthy server would be "
                "taken for dead between two heartbeats"
            )
        return self


class PostgresBackupSettings(Section):
    """``[backup.postgres]``: generations of PostgreSQL; an empty url means the control database."""

    url: SecretUrl = SecretUrl("")
    directory: Path = Path("var/backups/postgres")
    keep_generations: Kept = 7
    keep_daily: Kept = 0
    keep_weekly: Kept = 0
    keep_monthly: Kept = 0
    keep_yearly: Kept = 0
    config_files: tuple[str, ...] = ("auto",)
    compression: int = Field(1, ge=1, le=9)
    bin_dir: str = ""
    restore_log: Path = Path("var/restore-log.jsonl")


class ObjectBackupSettings(Section):
    """``[backup.objects]``: snapshots of object trees."""

    repository: str = "var/backups/objects"
    password: SecretStr = SecretStr("")
    keep_snapshots: Kept = 7
    program: str = ""
    timeout: Deadline = 86400.0


class BackupSettings(Section):
    """``[backup]``: what is kept, and where."""

    postgres: PostgresBackupSettings = PostgresBackupSettings()
    objects: ObjectBackupSettings = ObjectBackupSettings()


class DrillQuery(Section):
    """A query that a restored database must answer with ``expect`` (its first value, as text)."""

    database: str
    sql: str
    expect: str


class CanaryTable(Section):
    """A table whose content is recorded when it is backed up, and must come back in a drill."""

    database: str
    table: str = Field(pattern=r"\.")
    key: str = ""
    append_only: bool = False


class DrillSettings(Section):
    """``[drill]``: restore drills; ``timeout`` holds for each phase."""

    directory: Path = Path("var/drills")
    queries: tuple[DrillQuery, ...] = ()
    canaries: tuple[CanaryTable, ...] = ()
    canary_limit: Kept = 50
    timeout: Deadline = 3600.0


class ObjectiveSettings(Section):
    """``[objectives]``: what recovery is promised to be; 0 promises nothing."""

    recovery_time: Promise = 0.0
    recovery_point: Promise = 26 * 3600.0
    verify_every: Promise = 26 * 3600.0
    drill_every: Promise = 8 * 86400.0
    rotate_every: Promise = 26 * 3600.0


class ProofSettings(Section):
    """``[proof]``: the report of what is proven; an empty key means that it is not signed."""

    key: SecretStr = SecretStr("")


class HistorySettings(Section):
    """``[history]``: how long ended runs are kept."""

    keep_days: int = Field(90, ge=1)


class ProtectionSettings(Section):
    """``[protection]``: the jobs by which Leitstand protects its own database, as cron times."""

    enabled: bool = True
    full: Cron = "0 2 * * *"
    incremental: Cron = "30 * * * *"
    rotate: Cron = "0 4 * * *"
    drill: Cron = "0 5 * * 0"
    drill_older: Kept = 1
    selftest: Cron = "0 6 * * 0"
    prune: Cron = "15 3 * * *"


class NotificationSettings(Section):
    """``[notifications]``: how messages to people are sent, and to whom by default."""

    recipients: Annotated[tuple[str, ...], AfterValidator(_none_empty)] = ("log",)
    max_attempts: int = Field(5, ge=1, le=1000)
    back_off: Deadline = 0.2
    outage_back_off: Deadline = 30.0
    deadline: Deadline = 15.0
    concurrency: int = Field(4, ge=1, le=100)
    templates: str = ""
    webhook_secret: SecretStr = SecretStr("")
    apprise_schemes: tuple[str, ...] = ()


class SmtpSettings(Section):
    """``[smtp]``: the server that takes our mail."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(25, ge=1, le=65535)
    sender: str = Field("leitstand@localhost", pattern=r"@")
    user: str = ""
    password: SecretStr = SecretStr("")
    security: Annotated[Literal["starttls", "tls", "none"], BeforeValidator(_lowered)] = "starttls"
    ca_file: str = ""


class AlertSettings(Section):
    """``[alerts]``: the evaluation of alert rules."""

    enabled: bool = True
    every: Deadline = 60.0
    default_rules: bool = True


class ContactSettings(Section):
    """``[[contact]]``: a recipient by name, so that its address may hold a secret."""

    name: str = ""
    url: SecretUrl = SecretUrl("")
    secret: SecretStr = SecretStr("")
    body: Literal["standard", "alertmanager"] = "standard"


class CacheSettings(Section):
    """``[cache]``: how old what is remembered of the control database may be."""

    configuration: Annotated[Duration, Field(ge=0)] = 5.0
    flags: Annotated[Duration, Field(ge=0)] = 5.0


class MetricsSettings(Section):
    """``[metrics]``: the page of metrics, and what a module may cost that is scraped for it."""

    prefix: str = Field("leitstand", pattern=r"^[a-zA-Z_][a-zA-Z0-9_]{0,62}$")
    timeout: Deadline = 2.0
    body_limit: int = Field(8 * 1024 * 1024, ge=1024)
    sample_limit: int = Field(50_000, ge=1)
    private_networks: bool = True
    cache: Annotated[Duration, Field(ge=0)] = 1.0


class TenantSettings(Section):
    """``[tenants]``: where their databases are made; an empty url means the control database's."""

    admin_url: SecretUrl = SecretUrl("")
    database_prefix: str = Field("leitstand_tenant_", pattern=r"^[a-z][a-z0-9_]{0,22}$")
    delete_after: Annotated[Duration, Field(ge=0)] = 5.0


class LogSettings(Section):
    """``[log]``: what is written to standard error, and how."""

    level: Annotated[
        Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(_lowered)
    ] = "info"
    format: Annotated[Literal["auto", "console", "json"], BeforeValidator(_lowered)] = "auto"


class AccessSettings(Section):
    """``[access]``: who may use the HTTP interface, and from where."""

    session: Deadline = 7 * 86400.0
    url: str = Field("", pattern=r"^(https?://[^\s/?#]+(/[^\s?#]*)?)?$")
    metrics_open: bool = False


class AgentSettings(Section):
    """``[agent]``: a remote agent on this machine; the other sections are its servers' affair."""

    servers: tuple[str, ...] = ()
    client_id: str = ""
    client_secret: SecretStr = SecretStr("")
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    slots: int = Field(1, ge=1, le=1000)
    ca_file: str = ""
    directory: Path = Path("var/agent")
    shutdown_grace: DurationOrDefault = 30.0


class DowntimeSettings(Section):
    """``[downtimes]``: the queue of a monitoring core; an empty source means off."""

    source: SecretUrl = SecretUrl("")
    database_url: SecretUrl = SecretUrl("")
    queue: Line = Field("statusngin_downtimes", min_length=1)
    exchange: Line = Field("statusengine", min_length=1)
    routing_key: Line = ""
    durable_queue: bool = False
    durable_exchange: bool = False
    batch: int = Field(500, ge=1, le=10_000)
    reap_after: Duration = Field(900.0, ge=0)


class ObjectSettings(Section):
    """``[objects]``: what reconcile and scrub look at."""

    database_url: SecretUrl = SecretUrl("")
    table: str = Field("file_revisions", min_length=1)
    store: SecretUrl = SecretUrl("")
    endpoint: str = ""
    region: str = ""
    access_key: SecretStr = SecretStr("")
    secret_key: SecretStr = SecretStr("")
    timeout: Deadline = 300.0
    grace: Annotated[Duration, Field(ge=0)] = 5.0
    report_limit: int = Field(10_000, ge=0)


class ScrubSettings(Section):
    """``[scrub]``: how much is read again, how often, and how fast."""

    sample: Annotated[str, BeforeValidator(_number_as_text)] = Field(
        "10", pattern=r"(?i)^\d+(\.\d+)?\s*(%|[kmgt]?i?b?)$"
    )
    cooldown: Annotated[Duration, Field(ge=0)] = 86_400.0
    max_rate: Annotated[str, BeforeValidator(_number_as_text)] = Field(
        "", pattern=r"(?i)^(\d+(\.\d+)?\s*[kmgt]?i?b?(/s)?)?$"
    )
    threads: int = Field(0, ge=0)
    coverage_days: float = Field(30.0, gt=0)


class DetectedEvent(Section):
    """``[[detector.events]]``: which rows of a table of its own are events of which name."""

    event: NameOfEvent
    type: str = ""
    prefix: str = ""
    description: Line = ""


class DetectorSettings(Section):
    """``[[detector]]``: a log table to watch."""

    name: Name = "webtrees"
    profile: Literal["webtrees", "table"] = "webtrees"
    database_url: SecretUrl = SecretUrl("")
    table_prefix: str = ""
    offline_marker: str = ""
    table: str = ""
    id_column: str = "id"
    type_column: str = ""
    time_column: str = ""
    message_column: str = ""
    payload_columns: tuple[str, ...] = ()
    events: tuple[DetectedEvent, ...] = ()

    @model_validator(mode="after")
    def _describes_a_table(self) -> "DetectorSettings":
        if self.profile == "table" and not (self.table and self.events):
            raise ValueError('a detector with profile = "table" needs table and events')
        if self.profile == "webtrees" and (self.table or self.events):
            raise ValueError('table and events are for profile = "table"')
        typed = any(each.type for each in self.events)
        worded = any(each.prefix for each in self.events)
        if (typed and not self.type_column) or (worded and not self.message_column):
            raise ValueError("type needs type_column, and prefix needs message_column")
        return self


class HookSettings(Section):
    """``[[hook]]``: a name that other programs call when something happened."""

    name: NameOrNone = ""
    secret: SecretStr = SecretStr("")
    old_secret: SecretStr = SecretStr("")
    token: SecretStr = SecretStr("")
    old_token: SecretStr = SecretStr("")
    tolerance: Annotated[Duration, Field(gt=0, le=3600)] = 300.0
    tenant: Line = Field("main", min_length=1)
    description: Line = ""
