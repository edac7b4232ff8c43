"""Puts together what Leitstand keeps for tenants and modules: values that change while it runs."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from leitstand.configuration import CHANNEL as SETTINGS_CHANNEL
from leitstand.configuration import CachedSettings, SettingLedger
from leitstand.settings import Settings
from leitstand.store.database import Database
from leitstand.store.listener import Listener


@dataclass(frozen=True)
class Core:
    """The ledgers, and what reads them through caches."""

    setting_ledger: SettingLedger
    configuration: CachedSettings


def build_core(settings: Settings, database: Database) -> Core:
    """All of it on one database."""
    ledger = SettingLedger(database)
    return Core(
        setting_ledger=ledger,
        configuration=CachedSettings(ledger, settings.cache.configuration),
    )


def hear_of_changes(database: Database, core: Core) -> Coroutine[Any, Any, None]:
    """A duty: have the caches forget what was changed by whatever process, for as long as it runs.

    While nobody could listen, anything may have changed.
    """

    def changed(channel: str, payload: str) -> None:
        del channel
        core.configuration.invalidate(payload)

    listener = Listener(
        database.conninfo, [SETTINGS_CHANNEL], changed, on_gap=core.configuration.invalidate
    )
    return listener.run()
