"""Rows that no application should write: each is one event, cut or mended, and stops nothing."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from leitstand.events.detection import Columns
from leitstand.store.database import Database
from tests.conftest import Postgres
from tests.events.log_scene import (
    LOGIN,
    LogScene,
    log_on_mariadb,
    log_on_postgres,
    log_on_sqlite,
)
from tests.mariadb_server import MariaDb

BAD = "\N{REPLACEMENT CHARACTER}"

ODD = {
    "a NUL byte": (b"Login: a\0b", f"Login: a{BAD}b"),
    "a lone surrogate": (b"Login: \xed\xa0\x80!", f"Login: {BAD * 3}!"),
    "no text at all": (b"Login: \xff\xfe", f"Login: {BAD * 2}"),
    "a megabyte": (b"Login: " + b"m" * 1_000_000, "Login: " + "m" * 243),
}


@pytest.mark.parametrize(("message", "told"), ODD.values(), ids=ODD)
async def test_in_sqlite(database: Database, tmp_path: Path, message: bytes, told: str) -> None:
    """SQLite stores whatever it is given, in any column."""
    log = await log_on_sqlite(database, tmp_path)
    columns = log.table.columns
    copied = Columns(columns.id, columns.type, columns.time, columns.message, ("ip_address",))
    log = replace(log, table=replace(log.table, columns=copied))
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(99)])
    connection = sqlite3.connect(tmp_path / "log.sqlite", isolation_level=None)
    connection.execute(
        "INSERT INTO wt_log (log_type, log_message, ip_address)"
        " VALUES ('auth', CAST(? AS text), CAST(? AS text))",
        (message, b"::1\xff"),
    )
    connection.close()
    await the_odd_one_is_told(log, told)
    assert (await log.events())[99].payload["ip_address"] == f"::1{BAD}"


@pytest.mark.parametrize("what", ["a NUL byte", "a megabyte"])
async def test_in_mariadb(database: Database, mariadb: MariaDb, what: str) -> None:
    log = await log_on_mariadb(database, mariadb)
    await log.detect()
    await log.log(*[f"Login: {number}" for number in range(99)])
    message, told = ODD[what]
    await log.log(message.decode())
    await the_odd_one_is_told(log, told)


async def test_copies_that_are_too_long_for_an_event(database: Database, tmp_path: Path) -> None:
    """Of control characters each becomes six; the source stood still at such a row."""
    log = await log_on_sqlite(database, tmp_path)
    columns = replace(log.table.columns, copied=("a", "b", "c", "user_id"))
    log = replace(log, table=replace(log.table, columns=columns))
    for name in "abc":
        await log.execute(f"ALTER TABLE wt_log ADD COLUMN {name} text")
    await log.detect()
    await log.log("Login: 1", a="\x01" * 4000, b="\x02" * 4000, c="\x03" * 4000, user_id=7)
    await log.log("Login: 2")
    assert (await log.detect()).problem is None
    long, short = await log.events(LOGIN)
    assert (long.payload["user_id"], short.payload["log_message"]) == (7, "Login: 2")
    assert [long.payload[name] for name in "abc"] == ["\x01" * 2048, "\x02" * 2048, "\x03" * 2048]


async def test_times_that_are_none(database: Database, tmp_path: Path) -> None:
    """SQLite takes any text for a time; it is cut, also where nothing is copied beside it."""
    log = await log_on_sqlite(database, tmp_path)
    log = replace(log, table=replace(log.table, columns=replace(log.table.columns, copied=())))
    await log.detect()
    await log.log("Login: 1", log_time="long ago " * 100_000)
    await log.log("Login: 2")
    assert (await log.detect()).problem is None
    long, _ = await log.events(LOGIN)
    assert (long.payload["log_time"][:9], len(long.payload["log_time"])) == ("long ago ", 100)


async def test_times_for_which_python_has_no_room(database: Database, postgres: Postgres) -> None:
    """The source stood still at such a row."""
    log = await log_on_postgres(database, postgres)
    await log.execute(
        "ALTER TABLE wt_log ADD COLUMN seen timestamptz, ADD COLUMN day date",
    )
    columns = replace(log.table.columns, copied=("seen", "day"))
    log = replace(log, table=replace(log.table, columns=columns))
    await log.detect()
    await log.execute(
        "INSERT INTO wt_log (log_type, log_message, log_time, seen, day) VALUES"
        " ('auth', 'Login: 1', '-infinity', 'infinity', '0044-03-15 BC'),"
        " ('auth', 'Login: 2', '2026-12-02 14:00:05', '2026-12-02 14:00:05+01', '2026-12-02')"
    )
    assert (await log.detect()).problem is None
    odd, plain = (event.payload for event in await log.events(LOGIN))
    assert (odd["log_time"], odd["seen"], odd["day"]) == ("-infinity", "infinity", "0044-03-15 BC")
    assert (plain["log_time"], plain["day"]) == ("2026-12-02T14:00:05Z", "2026-12-02")


async def test_numbers_that_are_none(database: Database, tmp_path: Path) -> None:
    log = await log_on_sqlite(database, tmp_path)
    columns = replace(log.table.columns, id="log_message")
    log = replace(log, table=replace(log.table, columns=columns))
    await log.log("Login: x")
    problem = (await log.detect()).problem
    assert problem is not None
    assert problem.sentence == "log_message of wt_log is no whole number"


async def test_a_file_that_is_not_there_is_not_made(database: Database, tmp_path: Path) -> None:
    log = await log_on_sqlite(database, tmp_path)
    await log.detect()
    file = tmp_path / "log.sqlite"
    away = file.rename(tmp_path / "away.sqlite")
    report = await log.detect()
    assert report.problem is not None
    assert (report.problem.code, file.exists()) == ("SOURCE_UNAVAILABLE", False)
    (source,) = await log.sources()
    assert "database file of webtrees is not there" in str(source.problem)
    away.rename(file)
    await log.log("Login: x")
    await log.detect()
    assert await log.messages() == ["Login: x"]


async def test_a_file_is_read_as_it_is_and_left_as_it_was(
    database: Database, tmp_path: Path
) -> None:
    """Also in WAL mode, where a reader could leave files that the application may not write to."""
    directory = tmp_path / "an odd #name? 100%"
    directory.mkdir()
    with sqlite3.connect(directory / "log.sqlite") as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    log = await log_on_sqlite(database, directory)
    await log.detect()
    await log.log("Login: x")
    await log.detect()
    assert await log.messages() == ["Login: x"]
    assert [each.name for each in directory.iterdir()] == ["log.sqlite"]
    with pytest.raises(OperationalError, match="readonly"):
        async with log.readers_engine().begin() as reader:
            await log.insert(reader, "Login: intruder")


async def the_odd_one_is_told(log: LogScene, told: str) -> None:
    """Row 100 of 200: it is an event like the others, and the checkpoint moves on."""
    await log.log(*[f"Login: {number}" for number in range(100, 200)])
    await log.detect()
    messages = [f"Login: {number}" for number in range(200)]
    messages[99] = told
    assert await log.messages() == messages
    assert sum((await log.detect()).emitted.values()) == 0
