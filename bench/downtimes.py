"""Downtimes into MariaDB, beside the naive way and beside the bare driver in batches."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncmy
import structlog
from sqlalchemy import make_url

from bench.server import BenchServer
from leitstand.downtimes import Applier, DeadLetters, Intake, open_target
from leitstand.store.database import Database
from leitstand.store.schema import upgrade
from tests.downtimes.core import ADD, LOAD, START, STOP, body, play
from tests.mariadb_server import MariaDb, mariadb_server

DOWNTIMES = 5000
BATCH = 500
NAIVE = 2000
"""Messages of the naive way, which is slow."""

DURABLE = (
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-flush-method=fsync",
    "--innodb-doublewrite=1",
)
"""As MariaDB is by itself, unlike in the tests: what is committed survives a loss of power."""

Statement = tuple[str, tuple[Any, ...]]
Load = Callable[[str], Awaitable[None]]


def statements(message: dict[str, Any]) -> list[Statement]:
    """The two statements that the table of events asks for, without any care for late events."""
    downtime, at = message["downtime"], message["timestamp"]
    key = _key(downtime)
    kind = "service" if "service_description" in key else "host"
    scheduled = f"statusengine_{kind}_scheduleddowntimes"
    history = f"statusengine_{kind}_downtimehistory"
    where = " AND ".join(f"{column} = %s" for column in key)
    of_key = tuple(key.values())
    remove = (f"DELETE FROM {scheduled} WHERE {where}", of_key)
    if message["type"] == LOAD:
        return []
    if message["type"] == ADD:
        return [_insert(scheduled, key, downtime, 0), _insert(history, key, downtime, 0)]
    if message["type"] == START:
        update = f"UPDATE {history} SET was_started = 1, actual_start_time = %s WHERE {where}"
        return [_insert(scheduled, key, downtime, at), (update, (at, *of_key))]
    if message["type"] == STOP:
        update = f"UPDATE {history} SET actual_end_time = %s, was_cancelled = %s WHERE {where}"
        return [remove, (update, (at, int(message["attr"] == 2), *of_key))]
    never = f"DELETE FROM {history} WHERE {where} AND scheduled_start_time > %s"
    return [remove, (never, (*of_key, at))]


def _key(downtime: dict[str, Any]) -> dict[str, Any]:
    service = downtime["service_description"]
    return {
        "hostname": downtime["host_name"],
        **({"service_description": service} if downtime["downtime_type"] == 1 else {}),
        "node_name": "core1",
        "scheduled_start_time": downtime["start_time"],
        "internal_downtime_id": downtime["downtime_id"],
    }


def _insert(table: str, key: dict[str, Any], downtime: dict[str, Any], at: int) -> Statement:
    row = {
        **key,
        "entry_time": downtime["entry_time"],
        "author_name": downtime["author_name"],
        "comment_data": downtime["comment_data"],
        "triggered_by_id": downtime["triggered_by"],
        "is_fixed": downtime["fixed"],
        "duration": downtime["duration"],
        "scheduled_end_time": downtime["end_time"],
        "was_started": int(at > 0),
        "actual_start_time": at,
        **({"actual_end_time": 0} if "history" in table else {}),
    }
    marks = ", ".join(["%s"] * len(row))
    update = "was_started = VALUES(was_started), actual_start_time = VALUES(actual_start_time)"
    insert = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
    return f"{insert} ON DUPLICATE KEY UPDATE {update}", tuple(row.values())


async def connect(url: str, *, autocommit: bool) -> Any:  # noqa: ANN401 -- the driver has no types
    """A bare connection of the driver."""
    parts = make_url(url)
    return await asyncmy.connect(
        host=parts.host,
        port=parts.port,
        user=parts.username,
        password=parts.password,
        database=parts.database,
        charset="utf8mb4",
        autocommit=autocommit,
    )


def naive(messages: Sequence[dict[str, Any]]) -> Load:
    """Each statement in a transaction of its own."""

    async def load(url: str) -> None:
        connection = await connect(url, autocommit=True)
        async with connection.cursor() as cursor:
            for one in messages:
                for sql, values in statements(one):
                    await cursor.execute(sql, values)
        connection.close()

    return load


def bare(messages: Sequence[dict[str, Any]]) -> Load:
    """The same statements, a transaction for each batch, neighbours of the same text at once."""

    async def load(url: str) -> None:
        connection = await connect(url, autocommit=False)
        async with connection.cursor() as cursor:
            for begin in range(0, len(messages), BATCH):
                grouped: dict[str, list[tuple[Any, ...]]] = {}
                for one in messages[begin : begin + BATCH]:
                    for sql, values in statements(one):
                        grouped.setdefault(sql, []).append(values)
                for sql, rows in grouped.items():
                    await cursor.executemany(sql, rows)
                await connection.commit()
        connection.close()

    return load


def ours(bodies: Sequence[bytes], conninfo: str) -> Load:
    """The intake, from bytes to rows, ledger included."""

    async def load(url: str) -> None:
        async with open_target(url) as target, Database(conninfo) as database:
            intake = Intake(Applier(target, "core1"), DeadLetters(database), "bench")
            for begin in range(0, len(bodies), BATCH):
                await intake.take(bodies[begin : begin + BATCH])

    return load


async def rate(mariadb: MariaDb, name: str, load: Load, count: int) -> float:
    """Messages a second into fresh tables."""
    url = mariadb.create_database(name)
    async with open_target(url) as target:
        await target.create_tables()
    begun = time.perf_counter()
    await load(url)
    return count / (time.perf_counter() - begun)


def report(server: BenchServer) -> None:
    """Measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    conninfo = server.create_database("downtimes")
    upgrade(conninfo)
    messages = play(random.Random(1), DOWNTIMES)
    bodies = [body(one) for one in messages]
    with mariadb_server(DURABLE, on_disk=True) as mariadb:
        by_naive = asyncio.run(rate(mariadb, "naive", naive(messages[:NAIVE]), NAIVE))
        by_bare = asyncio.run(rate(mariadb, "bare", bare(messages), len(messages)))
        by_ours = asyncio.run(rate(mariadb, "ours", ours(bodies, conninfo), len(messages)))
    print(f"downtime messages per second into MariaDB ({len(messages)} of {DOWNTIMES} downtimes):")
    print(f"  leitstand, {BATCH} a transaction       {by_ours:7.0f}")
    print(f"  two autocommitted statements each {by_naive:7.0f}   {by_ours / by_naive:5.1f} times")
    print(f"  bare driver, the same batches     {by_bare:7.0f}   {by_ours / by_bare:5.2f} times")
