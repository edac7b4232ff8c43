"""A database as a shop's might be: text, numbers, jsonb and indexes, made by SQL in seconds."""

import time

import psycopg

from bench.server import BenchServer

DBNAME = "shop"
ORDERS = 1_500_000
"""About 500 MB with its indexes."""

_WORDS = "delivery customer asked for invoice by post leave at the door call before fragile gift"

_STATEMENTS = (
    """CREATE TABLE orders AS
       SELECT g AS id,
              (random() * 100000)::int AS customer_id,
              timestamptz '2024-01-01' + g * interval '40 seconds' AS placed_at,
              round((random() * 500)::numeric, 2) AS amount,
              (ARRAY['new', 'paid', 'shipped', 'returned'])[1 + g % 4] AS state,
              gen_random_uuid() AS token,
              w.words[1 + g % 13] || ' ' || w.words[1 + g / 7 % 13] || ' '
                  || w.words[1 + (random() * 12)::int] || ' ' || w.words[1 + g / 91 % 13]
                  || ' ' || (random() * 1e6)::int AS note,
              jsonb_build_object('channel', (ARRAY['web', 'phone', 'shop'])[1 + g % 3],
                                 'weight', round((random() * 9)::numeric, 3),
                                 'items', jsonb_build_array((random() * 9999)::int,
                                                            (random() * 9999)::int)) AS attributes
       FROM generate_series(1, {orders}) AS g,
            (SELECT string_to_array('{words}', ' ') AS words) AS w""",
    "ALTER TABLE orders ADD PRIMARY KEY (id)",
    "CREATE INDEX ON orders (customer_id, placed_at)",
    "CREATE INDEX ON orders (token)",
    "CREATE INDEX ON orders ((attributes ->> 'channel'), amount)",
    "CHECKPOINT",
)


def fill(server: BenchServer) -> int:
    """Make the database; its size in bytes."""
    conninfo = server.create_database(DBNAME)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("SELECT setseed(0.5)")
        for statement in _STATEMENTS:
            connection.execute(statement.format(orders=ORDERS, words=_WORDS).encode())
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def change(server: BenchServer, turn: int) -> None:
    """Change the rows of two hours in every day: what an increment may well find.

    Returns when the server has summarised the WAL, which whoever comes first would wait for.
    """
    with psycopg.connect(server.conninfo(DBNAME), autocommit=True) as connection:
        connection.execute(
            "UPDATE orders SET state = 'paid', amount = amount + 1"
            " WHERE extract(hour FROM placed_at AT TIME ZONE 'UTC') IN (%(turn)s, %(turn)s + 12)",
            {"turn": turn % 12},
        )
        connection.execute("CHECKPOINT")
        while not _summarised(connection):
            time.sleep(0.1)


def _summarised(connection: psycopg.Connection) -> bool:
    row = connection.execute(
        "SELECT summarized_lsn >= redo_lsn"
        " FROM pg_get_wal_summarizer_state(), pg_control_checkpoint()"
    ).fetchone()
    return row is not None and bool(row[0])
