"""Configuration values that change while Leitstand runs: versioned, global or a tenant's own.

Not to be confused with ``settings``, which a process reads from its file once.
"""

from leitstand.configuration.cached_settings import CachedSettings
from leitstand.configuration.setting import (
    GLOBAL,
    Expected,
    Setting,
    SettingKeyError,
    SettingScopeError,
    SettingValueError,
    UnknownSettingError,
    VersionConflictError,
)
from leitstand.configuration.setting_ledger import CHANNEL, SettingLedger

__all__ = [
    "CHANNEL",
    "GLOBAL",
    "CachedSettings",
    "Expected",
    "Setting",
    "SettingKeyError",
    "SettingLedger",
    "SettingScopeError",
    "SettingValueError",
    "UnknownSettingError",
    "VersionConflictError",
]
