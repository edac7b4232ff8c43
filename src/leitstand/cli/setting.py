"""`leitstand setting`: configuration values, global and by tenant, and their history."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from leitstand.app.control import Control, open_control
from leitstand.cli.commands import Commands
from leitstand.cli.invocation import Invocation
from leitstand.cli.table import Table
from leitstand.configuration import GLOBAL, Expected, Setting, UnknownSettingError
from leitstand.display import moment
from leitstand.errors import UsageError

app = Commands("setting", "Configuration values: set and get them, see their history.")

Key = Annotated[str, typer.Argument(metavar="KEY", help="The setting's key.")]
Tenant = Annotated[
    str | None, typer.Option("--tenant", metavar="SLUG", help="The tenant; without it, global.")
]


@app.command("set")
async def set_value(
    call: Invocation,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value.")],
    tenant: Tenant = None,
    is_json: Annotated[
        bool, typer.Option("--value-is-json", help="VALUE is JSON: a number, a list, …")
    ] = False,
    expected: Annotated[
        int | None,
        typer.Option("--expected", metavar="N", min=0, help="Only over this version; 0: none yet."),
    ] = None,
) -> None:
    """Set a value; its version grows by 1."""
    content = _parsed(value) if is_json else value
    wanted = None if expected is None else Expected(expected)
    async with open_control(call.loaded) as control:
        setting = await control.core.setting_ledger.save(
            key, content, scope=_scope(tenant), changed_by=call.user, expected=wanted
        )
    call.output.show(setting.as_dict(), f"{key} is set: version {setting.version}.")


@app.command("get")
async def get(call: Invocation, key: Key, tenant: Tenant = None) -> None:
    """Show the value in exactly one scope."""
    async with open_control(call.loaded) as control:
        try:
            setting = await control.core.configuration.get(key, _scope(tenant))
        except UnknownSettingError:
            await _find(control, tenant)
            raise
    call.output.show(setting.as_dict(), _shown(setting.value))


@app.command("resolve")
async def resolve(call: Invocation, key: Key, tenant: Tenant = None) -> None:
    """Show the value that holds for a tenant: its own, or else the global one."""
    async with open_control(call.loaded) as control:
        await _find(control, tenant)
        setting = await control.core.configuration.resolve(key, tenant)
    call.output.show(setting.as_dict(), _shown(setting.value))


@app.command("history")
async def history(call: Invocation, key: Key, tenant: Tenant = None) -> None:
    """Show all versions of a value, the oldest first."""
    async with open_control(call.loaded) as control:
        try:
            versions = await control.core.setting_ledger.history(key, _scope(tenant))
        except UnknownSettingError:
            await _find(control, tenant)
            raise
    _show(call, versions)


@app.command("list")
async def list_settings(call: Invocation) -> None:
    """List all values."""
    async with open_control(call.loaded) as control:
        settings = await control.core.setting_ledger.list_all()
    _show(call, settings)


def _scope(tenant: str | None) -> str:
    return GLOBAL if tenant is None else tenant


async def _find(control: Control, tenant: str | None) -> None:
    """Raise UnknownTenantError for a slug that no tenant has."""
    if tenant is not None:
        await control.core.tenants.find(tenant)


def _show(call: Invocation, settings: Sequence[Setting]) -> None:
    columns = ("key", "scope", "version", "value", "changed (UTC)", "by")
    rows = [
        (s.key, s.scope, s.version, _shown(s.value), moment(s.changed_at), s.changed_by)
        for s in settings
    ]
    table = Table(columns, rows, right=frozenset(("version",)), empty="No settings.")
    call.output.show([setting.as_dict() for setting in settings], table)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(
            "the value is no JSON", remedy="Without --value-is-json it is taken as text."
        ) from None


def _shown(value: object) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
