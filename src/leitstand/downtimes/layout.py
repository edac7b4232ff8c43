"""How the downtime tables of this database are made: columns, lengths, character sets, case."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, bindparam, text
from sqlalchemy.ext.asyncio import AsyncConnection

from leitstand.downtimes.tables import OPTIONAL, OWN, STATUSENGINE, is_mysql
from leitstand.downtimes.wire_text import REPLACEMENT
from leitstand.errors import LeitstandError

_COLUMNS_OF_MYSQL = text(
    "SELECT table_name AS table_name, column_name AS column_name,"
    " character_maximum_length AS longest, character_set_name AS charset,"
    " collation_name AS collation_name"
    " FROM information_schema.columns"
    " WHERE table_schema = DATABASE() AND table_name IN :tables"
).bindparams(bindparam("tables", expanding=True))

_COLUMNS_OF_POSTGRESQL = text(
    "SELECT table_name, column_name, character_maximum_length AS longest,"
    " 'utf8mb4' AS charset, '' AS collation_name"
    " FROM information_schema.columns"
    " WHERE table_schema = ANY(current_schemas(false)) AND table_name IN :tables"
).bindparams(bindparam("tables", expanding=True))

CODECS = {"latin1": "cp1252", "utf8mb4": "utf-8", "utf8mb3": "utf-8", "utf8": "utf-8"}
THREE_BYTES = {"utf8mb3", "utf8"}
HIGHEST_OF_THREE_BYTES = "\uffff"


class TablesError(LeitstandError):
    """The downtime tables are missing, or not those of Statusengine."""

    code = "DOWNTIME_TABLES"


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column that holds text: characters at most, and the server's name of its encoding."""

    longest: int
    charset: str

    def fit(self, value: str) -> str:
        """``value`` as the column can hold it: what it has no character for replaced, then cut."""
        if not value.isascii():
            value = self._representable(value)
        return value[: self.longest]

    def _representable(self, value: str) -> str:
        if self.charset in THREE_BYTES:
            return "".join(c if c <= HIGHEST_OF_THREE_BYTES else REPLACEMENT for c in value)
        codec = CODECS.get(self.charset, "ascii")
        return value if codec == "utf-8" else value.encode(codec, "replace").decode(codec)


@dataclass(frozen=True)
class Layout:
    """What is particular about these tables; ``text_columns`` by table name and column."""

    has_usec: Mapping[str, bool]
    text_columns: Mapping[str, Mapping[str, TextColumn]]
    folds_case: bool

    def fitted(self, table: Table, row: dict[str, Any]) -> list[str]:
        """Change ``row`` into what ``table`` can hold; the names of columns that lost something."""
        changed = []
        for name, column in self.text_columns[table.name].items():
            value = row.get(name)
            if value is not None and (len(value) > column.longest or not value.isascii()):
                row[name] = column.fit(value)
                if row[name] != value:
                    changed.append(name)
        return changed


async def read_layout(connection: AsyncConnection) -> Layout:
    """Look at the tables. Raises TablesError when one is missing, or a column that is needed."""
    found = await existing_columns(connection, STATUSENGINE)
    missing = [table.name for table in STATUSENGINE if table.name not in found]
    if missing:
        raise TablesError(
            f"the database has no table {', '.join(missing)}",
            remedy="`leitstand downtime create-tables` makes what is missing. If Statusengine's"
            " tables should be there, downtimes.database_url names the wrong database.",
        )
    for table in STATUSENGINE:
        _refuse_missing_columns(table, found[table.name])
    key = found[STATUSENGINE[0].name]["hostname"]
    return Layout(
        has_usec={name: OPTIONAL in columns for name, columns in found.items()},
        text_columns={name: _text_columns(columns) for name, columns in found.items()},
        folds_case=key["collation_name"].endswith("_ci"),
    )


async def missing_own(connection: AsyncConnection) -> list[Table]:
    """The tables of Leitstand's own that are not there yet."""
    found = await existing_columns(connection, OWN)
    return [table for table in OWN if table.name not in found]


async def existing_columns(
    connection: AsyncConnection, tables: Iterable[Table]
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """What the server says of the columns of those tables that exist."""
    mysql = is_mysql(connection.dialect.name)
    query = _COLUMNS_OF_MYSQL if mysql else _COLUMNS_OF_POSTGRESQL
    rows = await connection.execute(query, {"tables": [table.name for table in tables]})
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows.mappings():
        found.setdefault(row["table_name"], {})[row["column_name"]] = dict(row)
    return found


def _refuse_missing_columns(table: Table, found: Mapping[str, Any]) -> None:
    missing = {column.name for column in table.columns} - {OPTIONAL} - set(found)
    if missing:
        raise TablesError(
            f"{table.name} has no column {', '.join(sorted(missing))}",
            remedy="Bring Statusengine's schema up to date, as its release notes say.",
        )


def _text_columns(found: Mapping[str, Mapping[str, Any]]) -> dict[str, TextColumn]:
    return {
        name: TextColumn(int(column["longest"]), column["charset"] or "utf8mb4")
        for name, column in found.items()
        if column["longest"] is not None
    }
