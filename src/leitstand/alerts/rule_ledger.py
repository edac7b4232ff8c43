"""The ledger of alert rules: the only code that reads and writes the table alert_rules."""

from collections.abc import Iterable, Mapping
from typing import Any

from leitstand.alerts.rule import AlertRule, AlertSpec
from leitstand.errors import NotFoundError
from leitstand.store.database import Connection, Database, load_queries
from leitstand.store.jsonb import to_jsonb

queries = load_queries(__file__)


class RuleLedger:
    """Rules by name. A change holds from the next evaluation on; what fires goes on firing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, spec: AlertSpec, *, managed: bool = False) -> AlertRule:
        """Create the rule, or replace the one of that name and keep what is known of its series."""
        async with self._database.transaction() as connection:
            return await self._save(connection, spec, managed)

    async def save_all(self, specs: Iterable[AlertSpec], *, managed: bool) -> list[AlertRule]:
        """As ``save``, all or none of them."""
        async with self._database.transaction() as connection:
            return [await self._save(connection, spec, managed) for spec in specs]

    async def _save(self, connection: Connection, spec: AlertSpec, managed: bool) -> AlertRule:
        values = spec.model_dump()
        row = await queries.save_rule(
            connection,
            **{
                **values,
                "group_key": spec.group,
                "name": spec.full_name,
                "label_filters": to_jsonb(values["label_filters"]),
                "managed": managed,
            },
        )
        return AlertRule.from_row(row)

    async def list_all(self) -> list[AlertRule]:
        """All rules, ordered by name."""
        async with self._database.connection() as connection:
            return [AlertRule.from_row(row) async for row in queries.list_rules(connection)]

    async def get(self, name: str) -> AlertRule:
        """The rule of that name or id; raises NotFoundError."""
        async with self._database.connection() as connection:
            row = await queries.get_rule(connection, name=name)
        return AlertRule.from_row(_found(row, name))

    async def enable(self, name: str, *, enabled: bool) -> AlertRule:
        """Have the rule of that name or id evaluated or not; raises NotFoundError.

        What fires goes on firing while it is off, and nobody is told of its end before it is on.
        """
        async with self._database.transaction() as connection:
            row = await queries.enable_rule(connection, name=name, enabled=enabled)
        return AlertRule.from_row(_found(row, name))

    async def delete(self, name: str) -> str:
        """Delete the rule of that name or id, and what is known of its series; its name.

        Nobody is told that what fired is over. Raises NotFoundError.
        """
        async with self._database.transaction() as connection:
            row = await queries.delete_rule(connection, name=name)
        deleted: str = _found(row, name)["name"]
        return deleted


def _found(row: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    if row is None:
        raise NotFoundError(
            f"no alert rule is named {name!r}", remedy="See `leitstand alert list`."
        )
    return row
