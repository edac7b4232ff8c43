"""INSERT that updates on conflict, in the words of each database."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Insert, Table, bindparam
from sqlalchemy.dialects import mysql, postgresql

from leitstand.downtimes.tables import is_mysql


@cache
def upsert(
    dialect: str, table: Table, columns: tuple[str, ...], updated: tuple[str, ...]
) -> Insert:
    """Insert ``columns``; where the primary key exists already, set the ``updated`` ones."""
    values: dict[str, Any] = {name: bindparam(name) for name in columns}
    if is_mysql(dialect):
        into = mysql.insert(table).values(values)
        return into.on_duplicate_key_update({name: into.inserted[name] for name in updated})
    insert = postgresql.insert(table).values(values)
    return insert.on_conflict_do_update(
        index_elements=_key(table), set_={name: insert.excluded[name] for name in updated}
    )


def _key(table: Table) -> Sequence[str]:
    return [column.name for column in table.primary_key]
