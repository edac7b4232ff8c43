"""How a database is asked for keys in byte order, by its index where it has a fitting one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from leitstand.archive.integrity.revision_address import RevisionAddress

_BYTE_ORDERED = {"C", "POSIX", "ucs_basic", "C.UTF-8", "C.utf8", "pg_c_utf8"}
"""Collations of PostgreSQL that compare bytes (``C.UTF-8``: code points, the same in UTF-8)."""

_UNPADDED = ("_nopad_bin", "_0900_bin")
"""Endings of MariaDB's and MySQL's collations that compare code points and pad nothing.

Others that end with ``_bin`` pad with spaces, so that a key with a tab behind it sorts before the
key without it.
"""

_BINARY = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bytea"}


@dataclass(frozen=True)
class KeyColumn:
    """The column of keys as its database describes it.

    ``collation`` is the one that comparisons use: the column's own, or the database's.
    """

    data_type: str
    collation: str | None = None
    charset: str = "utf8"

    @property
    def is_binary(self) -> bool:
        """Whether it holds bytes rather than text."""
        return self.data_type.lower() in _BINARY


def postgres_order(column: KeyColumn, name: str) -> str:
    """The ORDER BY expression for PostgreSQL; ``name`` is quoted.

    An index serves an expression only with the same collation, so the column's own is used where
    it compares bytes; otherwise an index that was made with COLLATE "C" serves.
    """
    if column.is_binary or column.collation in _BYTE_ORDERED:
        return name
    if column.charset.upper() not in ("UTF8", "LATIN1", "SQL_ASCII"):
        return f"convert_to({name}, 'UTF8')"
    return f'{name} COLLATE "C"'


def mysql_order(column: KeyColumn, name: str) -> str:
    """The ORDER BY expression for MariaDB and MySQL; ``name`` is quoted."""
    if column.is_binary or (column.collation or "").endswith(_UNPADDED):
        return name
    return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"


def sqlite_order(column: KeyColumn, name: str) -> str:
    """The ORDER BY expression for SQLite, which compares bytes unless told otherwise."""
    return f"{name} COLLATE BINARY"


_ORDERS: Mapping[str, Callable[[KeyColumn, str], str]] = {
    "postgresql": postgres_order,
    "mysql": mysql_order,
    "sqlite": sqlite_order,
}


def key_order(dialect: str, column: KeyColumn) -> str:
    """The ORDER BY expression that gives ``storage_key`` in byte order."""
    return _ORDERS[dialect](column, "storage_key")


_POSTGRES_COLUMN = text("""
    SELECT format_type(a.atttypid, NULL),
           CASE WHEN a.attcollation = 0 THEN NULL
                WHEN c.collprovider <> 'd' THEN c.collname
                WHEN d.datlocprovider = 'b' THEN 'C'
                WHEN d.datlocprovider = 'c' THEN d.datcollate END,
           pg_encoding_to_char(d.encoding)
    FROM pg_attribute AS a
    LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
    CROSS JOIN pg_database AS d
    WHERE a.attrelid = to_regclass(:name) AND a.attname = 'storage_key'
      AND d.datname = current_database()
""")
_MYSQL_COLUMN = text("""
    SELECT data_type, collation_name, coalesce(character_set_name, '')
    FROM information_schema.columns
    WHERE table_schema = coalesce(:schema, database()) AND table_name = :name
      AND column_name = 'storage_key'
""")


def describe_column(
    connection: Connection, address: RevisionAddress, quoted: str
) -> KeyColumn | None:
    """Ask the database about the column of keys; None where there is no such table or column.

    ``quoted`` is the table's name as a statement has it.
    """
    schema, name = address.table_parts
    match connection.dialect.name:
        case "postgresql":
            row = connection.execute(_POSTGRES_COLUMN, {"name": quoted}).fetchone()
        case "mysql":
            row = connection.execute(_MYSQL_COLUMN, {"schema": schema, "name": name}).fetchone()
        case _:
            return KeyColumn("text")
    return None if row is None else KeyColumn(*row)
