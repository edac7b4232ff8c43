"""Puts together what Leitstand keeps for tenants and modules: values that change while it runs."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from leitstand.configuration import CHANNEL as SETTINGS
from leitstand.configuration import CachedSettings, SettingLedger
from leitstand.flags import CHANNEL as FLAGS
from leitstand.flags import FlagLedger, FlagMemory, Flags
from leitstand.modules import Activation, ModuleLedger
from leitstand.settings import Settings
from leitstand.store.database import Database
from leitstand.store.listener import Listener
from leitstand.tenants import Provisioner, TenantLedger, TenantSettings


@dataclass(frozen=True)
class Core:
    """The ledgers, and what reads them through caches."""

    setting_ledger: SettingLedger
    configuration: CachedSettings
    flag_ledger: FlagLedger
    flags: Flags
    activation: Activation
    tenants: TenantLedger
    provisioner: Provisioner


def build_core(settings: Settings, database: Database) -> Core:
    """All of it on one database."""
    tenants, flag_ledger = TenantLedger(database), FlagLedger(database)
    setting_ledger = SettingLedger(database, tenants.find)
    flags = Flags(flag_ledger, flag_memory(settings), settings.cache.flags)
    return Core(
        setting_ledger=setting_ledger,
        configuration=CachedSettings(setting_ledger, settings.cache.configuration),
        flag_ledger=flag_ledger,
        flags=flags,
        activation=Activation(ModuleLedger(database), flags.is_enabled),
        tenants=tenants,
        provisioner=Provisioner(
            tenants, _tenant_settings(settings, database.conninfo), setting_ledger.forget_in
        ),
    )


def _tenant_settings(settings: Settings, control_conninfo: str) -> TenantSettings:
    given = settings.tenants
    admin = given.admin_url.get_secret_value()
    return TenantSettings(
        admin_conninfo=admin or control_conninfo,
        reference="tenants.admin_url" if admin else "database.url",
        database_prefix=given.database_prefix,
        delete_after=given.delete_after,
    )


def flag_memory(settings: Settings) -> FlagMemory:
    """Where the last known flags are kept."""
    return FlagMemory(settings.server.data_dir / "flags.json")


def hear_of_changes(database: Database, core: Core) -> Coroutine[Any, Any, None]:
    """A duty: have the caches forget what was changed by whatever process, for as long as it runs.

    While nobody could listen, anything may have changed.
    """
    changed: dict[str, Callable[[str], None]] = {
        SETTINGS: core.configuration.invalidate,
        FLAGS: lambda _: core.flags.invalidate(),
    }

    def on_gap() -> None:
        core.configuration.invalidate()
        core.flags.invalidate()

    listener = Listener(
        database.conninfo,
        list(changed),
        lambda channel, payload: changed[channel](payload),
        on_gap,
    )
    return listener.run()
