"""The ledger of settings: the only code that reads and writes settings and setting_history."""

from collections.abc import Awaitable, Callable

from leitstand.configuration.setting import (
    GLOBAL,
    Expected,
    Setting,
    UnknownSettingError,
    VersionConflictError,
    check_place,
    fingerprint,
    written,
)
from leitstand.nearest import nearest
from leitstand.store.database import Connection, Database, load_queries

CHANNEL = "leitstand_settings"
"""Where each change is told to all servers; the payload is the key."""

queries = load_queries(__file__)


FindTenant = Callable[[str], Awaitable[object]]
"""Raises an error that says so if there is no tenant of this slug."""


class SettingLedger:
    """Settings by key and scope. Nothing is cached here.

    With ``find_tenant`` a value is set only for tenants that it finds.
    """

    def __init__(self, database: Database, find_tenant: FindTenant | None = None) -> None:
        self._database = database
        self._find_tenant = find_tenant

    async def save(
        self,
        key: str,
        value: object,
        *,
        scope: str = GLOBAL,
        changed_by: str,
        expected: Expected | None = None,
    ) -> Setting:
        """Set the value and note it in the history; all servers are told.

        Concurrent writers get consecutive versions. If it is not the version that is ``expected``,
        nothing is written: VersionConflictError. Raises SettingKeyError, SettingScopeError,
        SettingValueError, and what ``find_tenant`` raises.
        """
        check_place(key, scope)
        if scope != GLOBAL and self._find_tenant is not None:
            await self._find_tenant(scope)
        text = written(value)
        async with self._database.connection() as connection:
            row = await queries.save(
                connection,
                key=key,
                scope=scope,
                value=text,
                fingerprint=fingerprint(text),
                changed_by=changed_by,
                expected=expected and expected.version,
                expected_content=expected and expected.content,
                channel=CHANNEL,
            )
        if row is None:
            raise VersionConflictError(
                f"{key} in {scope} is not what was expected",
                remedy="Read it again: somebody else has changed it.",
            )
        return Setting.from_row(row)

    async def find(self, key: str, scope: str = GLOBAL) -> Setting | None:
        """The value in exactly this scope, or None."""
        async with self._database.connection() as connection:
            row = await queries.find(connection, key=key, scope=scope)
        return None if row is None else Setting.from_row(row)

    async def history(self, key: str, scope: str = GLOBAL) -> list[Setting]:
        """All versions, ascending; raises UnknownSettingError."""
        async with self._database.connection() as connection:
            rows = queries.history(connection, key=key, scope=scope)
            found = [Setting.from_row(row) async for row in rows]
        if not found:
            raise await self.unknown(key, scope)
        return found

    async def list_all(self) -> list[Setting]:
        """All current values, by key and scope."""
        async with self._database.connection() as connection:
            return [Setting.from_row(row) async for row in queries.list_settings(connection)]

    async def forget_in(self, connection: Connection, scope: str) -> None:
        """Delete all values of a scope with their history, in the caller's transaction.

        For a tenant that goes: another one of its slug would have them.
        """
        await queries.forget_scope(connection, scope=scope, channel=CHANNEL)

    async def unknown(self, key: str, scope: str) -> UnknownSettingError:
        """The error for a key without a value; names the nearest one that has one."""
        meant = nearest(key, {setting.key for setting in await self.list_all()} - {key}, 0.6)
        return UnknownSettingError(
            f"{key[:200]} is not set in {scope[:200]}",
            remedy=f"Did you mean {meant}?" if meant else "`leitstand setting list` shows all.",
        )
