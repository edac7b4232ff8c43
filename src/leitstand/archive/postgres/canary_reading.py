"""Reads what tables say of themselves, from a server that is backed up or from a restored copy.

Other people's tables are read, perhaps by a superuser. So nothing of theirs is called: only
ordinary tables are read, never views or foreign tables, by PostgreSQL's own functions alone. A cast
to text could be somebody's function; ``record_out`` cannot.
"""

from collections.abc import Iterable, Sequence

import psycopg
from psycopg import sql

from leitstand.archive.postgres.canary import TableChoice, TableValues
from leitstand.errors import LeitstandError

MARKS_SCHEMA = "leitstand_canary"
AUTOMATIC_PAGES = 512
"""Pages that a table may have that is read without being named, by the server's own estimate: the
functions that know better wait for whoever has the table locked."""
LOCK_TIMEOUT = "2s"
"""A table that somebody changes the definition of is left out rather than waited for."""

_SESSION = {
    "search_path": "pg_catalog",
    "row_security": "off",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "synchronous_commit": "local",
}
"""What the text of a row depends on. Rows that a policy hides must be an error; and the commit of a
mark must not wait for a standby that is away, since no timeout of the server would end that."""

_SMALL_TABLES = """
SELECT format('%%I.%%I', n.nspname, c.relname), coalesce((
    SELECT a.attname FROM pg_index AS i
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1
        AND a.atttypid IN (20, 21, 23)
), '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_class AS toast ON toast.oid = c.reltoastrelid
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND NOT c.relhassubclass
    AND n.nspname NOT IN ('pg_catalog', 'information_schema', %(marks)s)
    AND n.nspname NOT LIKE 'pg\\_toast%%' AND n.nspname NOT LIKE 'pg\\_temp%%'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND c.relpages + coalesce(toast.relpages, 0) <= %(pages)s
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
LIMIT %(most)s
"""
_FIND = """
SELECT n.nspname, c.relname, c.relkind = 'r',
    (SELECT a.attname FROM pg_attribute AS a
     WHERE a.attrelid = c.oid AND a.attname = %(key)s AND a.atttypid IN (20, 21, 23)
        AND NOT a.attisdropped),
    pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
        + pg_stat_get_tuples_deleted(c.oid)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(%(table)s) AND (
    (c.relkind = 'r' AND c.relpersistence = 'p')
    OR (c.relkind = 'p' AND (
        SELECT bool_and(part.relkind IN ('r', 'p') AND part.relpersistence = 'p')
        FROM pg_partition_tree(c.oid) AS tree JOIN pg_class AS part ON part.oid = tree.relid
    ))
)
"""
_VALUES = """
SELECT count(*), {greatest}, sum(hashtextextended(textin(record_out(leitstand_row.*)), 0)::numeric)
FROM {table} AS leitstand_row
"""


class CanaryTableError(LeitstandError):
    """A table that was named is none whose rows a backup holds."""

    code = "CANARY_TABLE"


def prepare(connection: psycopg.Connection) -> None:
    """Set what the text of rows depends on, for the transaction that is open."""
    settings = {**_SESSION, "lock_timeout": LOCK_TIMEOUT}
    for name, value in settings.items():
        connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))


def small_tables(connection: psycopg.Connection, database: str, most: int) -> Sequence[TableChoice]:
    """Up to ``most`` small tables of the connection's database, by name."""
    parameters = {"marks": MARKS_SCHEMA, "pages": AUTOMATIC_PAGES, "most": most}
    rows = connection.execute(_SMALL_TABLES, parameters).fetchall()
    return [TableChoice(database, table, key) for table, key in rows]


def read_tables(
    connection: psycopg.Connection, choices: Iterable[TableChoice]
) -> tuple[dict[TableChoice, TableValues], dict[str, str]]:
    """The values of ``choices``, all of one snapshot, and why others have none.

    The connection is within a transaction that was prepared.
    """
    values, problems = {}, {}
    for choice in choices:
        try:
            with connection.transaction():
                values[choice] = _read(connection, choice)
        except CanaryTableError as error:
            problems[choice.name] = error.message
        except psycopg.Error as error:
            if connection.broken:
                raise
            problems[choice.name] = f"it could not be read: {str(error).strip()}"
    return values, problems


def _read(connection: psycopg.Connection, choice: TableChoice) -> TableValues:
    found = connection.execute(_FIND, {"table": choice.table, "key": choice.key}).fetchone()
    if found is None:
        raise CanaryTableError("there is no ordinary, logged table of this name")
    schema, name, alone, key, changes = found
    if choice.key and key is None:
        raise CanaryTableError(f"it has no integer column {choice.key}")
    table = sql.Identifier(schema, name)
    query = sql.SQL(_VALUES).format(
        greatest=sql.SQL("max({})::bigint").format(sql.Identifier(key)) if key else sql.NULL,
        # the tables that inherit from it may be foreign ones; those of a partitioned one are not
        table=sql.SQL("ONLY {}").format(table) if alone else table,
    )
    row = connection.execute(query).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    rows, greatest, digest = row
    return TableValues(rows, greatest, None if digest is None else str(digest), changes)
