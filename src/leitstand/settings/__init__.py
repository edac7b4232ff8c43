"""Typed configuration from one TOML file and the environment, with the origin of every value.

Each setting is a key of the file (``[backup.postgres]`` ``url``) and a variable
(``LEITSTAND_BACKUP__POSTGRES__URL``); the variable wins. Every secret can also be given as
``<key>_file`` in both places: the content of that file, less one newline at its end. Relative paths
are relative to the current directory.

pydantic validates. pydantic-settings is not used: it knows no origins, passes over misspelt
variables, stops at the first bad source, and its import alone costs each command 0.2 s.
"""

from leitstand.settings.loading import (
    LoadedSettings,
    SettingEntry,
    effective_configuration,
    load_settings,
)
from leitstand.settings.problems import SettingsError
from leitstand.settings.root import Settings
from leitstand.settings.sections import (
    AgentSettings,
    DatabaseSettings,
    DetectorSettings,
    DowntimeSettings,
    HookSettings,
    LogSettings,
    LoopSettings,
    PostgresBackupSettings,
    ProtectionSettings,
    ServerSettings,
)

__all__ = [
    "AgentSettings",
    "DatabaseSettings",
    "DetectorSettings",
    "DowntimeSettings",
    "HookSettings",
    "LoadedSettings",
    "LogSettings",
    "LoopSettings",
    "PostgresBackupSettings",
    "ProtectionSettings",
    "ServerSettings",
    "SettingEntry",
    "Settings",
    "SettingsError",
    "effective_configuration",
    "load_settings",
]
