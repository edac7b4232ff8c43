"""The whole configuration as one value, with the paths that follow ``server.data_dir``."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, Field, model_validator

from leitstand.settings.keys import KeyPath, value_at
from leitstand.settings.layer import Layer
from leitstand.settings.sections import (
    AccessSettings,
    AgentSettings,
    AlertSettings,
    BackupSettings,
    CacheSettings,
    ContactSettings,
    DatabaseSettings,
    DetectorSettings,
    DowntimeSettings,
    DrillSettings,
    Entry,
    HistorySettings,
    HookSettings,
    LogSettings,
    LoopSettings,
    MetricsSettings,
    NotificationSettings,
    ObjectiveSettings,
    ObjectSettings,
    ProofSettings,
    ProtectionSettings,
    ScrubSettings,
    Section,
    ServerSettings,
    SmtpSettings,
    TenantSettings,
)

UNDER_DATA_DIR: Mapping[KeyPath, str] = {
    ("backup", "postgres", "directory"): "backups/postgres",
    ("backup", "postgres", "restore_log"): "restore-log.jsonl",
    ("backup", "objects", "repository"): "backups/objects",
    ("drill", "directory"): "drills",
    ("agent", "directory"): "agent",
}
"""Paths that lie under ``server.data_dir`` wherever it is, unless they are given (not empty)."""


class Settings(Section):
    """The whole configuration. ``Settings()`` is the default one."""

    server: ServerSettings = ServerSettings()
    database: DatabaseSettings = DatabaseSettings()
    loop: LoopSettings = LoopSettings()
    backup: BackupSettings = BackupSettings()
    drill: DrillSettings = DrillSettings()
    objectives: ObjectiveSettings = ObjectiveSettings()
    proof: ProofSettings = ProofSettings()
    history: HistorySettings = HistorySettings()
    protection: ProtectionSettings = ProtectionSettings()
    notifications: NotificationSettings = NotificationSettings()
    smtp: SmtpSettings = SmtpSettings()
    alerts: AlertSettings = AlertSettings()
    cache: CacheSettings = CacheSettings()
    tenants: TenantSettings = TenantSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    access: AccessSettings = AccessSettings()
    agent: AgentSettings = AgentSettings()
    downtimes: DowntimeSettings = DowntimeSettings()
    objects: ObjectSettings = ObjectSettings()
    scrub: ScrubSettings = ScrubSettings()
    detector: tuple[DetectorSettings, ...] = ()
    contact: tuple[ContactSettings, ...] = ()
    hook: tuple[HookSettings, ...] = ()
    job: tuple[Entry, ...] = Field((), repr=False)
    group: tuple[Entry, ...] = Field((), repr=False)
    window: tuple[Entry, ...] = Field((), repr=False)
    alert: tuple[Entry, ...] = Field((), repr=False)
    notify: tuple[Entry, ...] = Field((), repr=False)

    @model_validator(mode="before")
    @classmethod
    def _place_under_data_dir(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        layer = Layer({name: _as_given(value) for name, value in given.items()})
        data_dir = value_at(layer.values, ("server", "data_dir")) or "var"
        if not isinstance(data_dir, str | Path):
            return layer.values
        for path, below in UNDER_DATA_DIR.items():
            if not value_at(layer.values, path):
                layer.fill(path, str(Path(data_dir) / below))
        return layer.values


def _as_given(value: object) -> object:
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
