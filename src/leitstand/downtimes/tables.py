"""The tables: those of Statusengine, as its schema has them, and Leitstand's own ledger."""

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from leitstand.downtimes.downtime import Kind

metadata = MetaData()

KEY_COLUMNS = {
    Kind.HOST: ("hostname", "node_name", "scheduled_start_time", "internal_downtime_id"),
    Kind.SERVICE: (
        "hostname",
        "service_description",
        "node_name",
        "scheduled_start_time",
        "internal_downtime_id",
    ),
}

SCHEDULED_DYNAMIC = ("was_started", "actual_start_time")
HISTORY_DYNAMIC = (*SCHEDULED_DYNAMIC, "actual_end_time", "was_cancelled")
"""What changes in the life of a row; the rest is written once, when it is inserted."""

OPTIONAL = "entry_time_usec"
"""The column that older installations lack."""


def _table(name: str, *items: SchemaItem, mysql_collate: str = "utf8mb4_general_ci") -> Table:
    return Table(
        name,
        metadata,
        *items,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate=mysql_collate,
    )


def _unsigned() -> TypeEngine[int]:
    # PostgreSQL's integer is signed, so that an unsigned 32-bit number needs the next size.
    return BigInteger().with_variant(mysql.INTEGER(unsigned=True), "mysql", "mariadb")


def _flag() -> TypeEngine[int]:
    return SmallInteger().with_variant(mysql.TINYINT(display_width=1), "mysql", "mariadb")


def _names(kind: Kind) -> list[Column[str]]:
    service = [Column("service_description", String(255), nullable=False)]
    return [
        Column("hostname", String(255), nullable=False),
        *(service if kind is Kind.SERVICE else []),
    ]


def _description() -> list[Column[int] | Column[str]]:
    """What both tables say of a downtime, without the key."""
    return [
        Column("author_name", String(255)),
        Column("comment_data", String(1024)),
        Column("triggered_by_id", _unsigned()),
        Column("is_fixed", _flag(), server_default=text("0")),
        Column("duration", _unsigned()),
        Column("scheduled_end_time", BigInteger, nullable=False),
        Column("was_started", _flag(), server_default=text("0")),
        Column("actual_start_time", BigInteger, nullable=False),
    ]


def _key_tail(kind: Kind) -> list[Column[int] | Column[str]]:
    return [
        Column("internal_downtime_id", _unsigned(), nullable=False),
        Column("scheduled_start_time", BigInteger, nullable=False),
        Column("node_name", String(255), nullable=False),
        Column("entry_time", BigInteger, nullable=False),
    ]


def _scheduled(kind: Kind) -> Table:
    return _with_key(
        kind,
        f"statusengine_{kind}_scheduleddowntimes",
        [*_names(kind), *_key_tail(kind), *_description()],
    )


def _history(kind: Kind) -> Table:
    table = _with_key(
        kind,
        f"statusengine_{kind}_downtimehistory",
        [
            *_names(kind),
            *_key_tail(kind),
            Column(OPTIONAL, _unsigned(), nullable=False, server_default=text("0")),
            *_description(),
            Column("actual_end_time", BigInteger, nullable=False),
            Column("was_cancelled", _flag(), server_default=text("0")),
        ],
    )
    times = ("scheduled_start_time", "scheduled_end_time", "was_cancelled")
    first = "hostname" if kind is Kind.HOST else "service_description"
    entry = ("entry_time", OPTIONAL)
    for name, columns in (("reports", (first, *entry, *times)), ("list", (first, *times))):
        Index(f"{table.name}_{name}", *(table.c[column] for column in columns))
    return table


def _with_key(kind: Kind, name: str, columns: Sequence[Column[int] | Column[str]]) -> Table:
    key = PrimaryKeyConstraint(*KEY_COLUMNS[kind])
    return _table(name, *columns, key)


SCHEDULED = {kind: _scheduled(kind) for kind in Kind}
HISTORY = {kind: _history(kind) for kind in Kind}
STATUSENGINE = (*SCHEDULED.values(), *HISTORY.values())
"""The four tables that an installation of Statusengine has."""


def _stamp(name: str) -> list[Column[int]]:
    """The columns of a time that may be unknown, in seconds and microseconds."""
    return [Column(f"{name}_time", BigInteger), Column(f"{name}_usec", BigInteger)]


DIGEST = LargeBinary(16).with_variant(mysql.BINARY(16), "mysql", "mariadb")

LEDGER = _table(
    "leitstand_downtime_ledger",
    # The key of a service has the greatest size that an index may have already, so that the kind
    # does not fit beside it: the digest of both stands for them.
    Column("digest", DIGEST, primary_key=True),
    Column("kind", String(7), nullable=False),
    Column("hostname", String(255), nullable=False),
    Column("service_description", String(255), nullable=False),
    Column("node_name", String(255), nullable=False),
    Column("scheduled_start_time", BigInteger, nullable=False),
    Column("internal_downtime_id", BigInteger, nullable=False),
    Column("last_time", BigInteger, index=True),
    Column("last_usec", BigInteger),
    Column("last_step", Integer),
    *_stamp("added"),
    Column("started_time", BigInteger),
    *_stamp("last_start"),
    *_stamp("stopped"),
    Column("was_cancelled", Boolean, nullable=False),
    *_stamp("deleted"),
    Column("was_removed", Boolean, nullable=False),
    Column("in_history", Boolean, nullable=False),
    Column("reaped_time", BigInteger),
    mysql_collate="utf8mb4_bin",
)
"""What is known of each downtime: the time of the last event, and which events counted."""

GATE = _table(
    "leitstand_downtime_gate",
    Column("id", Integer, primary_key=True, autoincrement=False),
)
"""One row, whose lock lets those who apply events take turns."""

NEWS = _table(
    "leitstand_downtime_news",
    Column("id", BigInteger, primary_key=True),
    Column("happenings", Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False),
)
"""What happened and has not been announced yet, several happenings a row, as JSON."""

OWN = (LEDGER, GATE, NEWS)


def is_mysql(dialect: str) -> bool:
    """Whether a dialect of that name is spoken by MariaDB or MySQL."""
    return dialect in ("mysql", "mariadb")
