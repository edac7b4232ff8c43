"""Reading the table of revisions from PostgreSQL, MariaDB and SQLite, always in byte order."""

import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from leitstand.archive.integrity.key_order import KeyColumn, mysql_order, postgres_order
from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.revision_address import RevisionAddress
from leitstand.archive.integrity.revision_table import (
    PAGE,
    RevisionsUnavailableError,
    RevisionsUnfitError,
    RevisionTable,
)
from leitstand.errors import LeitstandError, NotFoundError, UsageError
from tests.archive.integrity.document_scene import Documents, digest
from tests.mariadb_server import PASSWORD, MariaDb

KEYS = [
    "a.b",
    "a/x",
    "a-b/y",
    "a0",
    "A.bin",
    "a.bin",
    "ü",
    "u\u0308",
    "\U0001f600",
    "\uffee",
    "b\t",
]
BYTE_ORDER = sorted(key.encode() for key in KEYS)
databases = itertools.count()


async def read(
    address: RevisionAddress, *, checksums: bool = False, deadline: float = 30.0
) -> list[Revision]:
    async with RevisionTable(address, deadline) as table:
        return [row async for page in table.pages(checksums=checksums) for row in page.revisions]


async def counted(address: RevisionAddress, limit: int) -> int:
    async with RevisionTable(address, 30) as table:
        return await table.count(limit)


def keys(revisions: list[Revision]) -> list[bytes]:
    return [revision.storage_key for revision in revisions]


@pytest.mark.parametrize(
    "key_type",
    ["text", 'varchar(255) COLLATE "C"', 'text COLLATE "pg_c_utf8"', "bytea", "text NOT NULL"],
)
async def test_postgres_in_byte_order(documents: Documents, key_type: str) -> None:
    documents.create_table(key_type)
    for key in KEYS:
        documents.insert(key.encode() if key_type == "bytea" else key)
    assert keys(await read(RevisionAddress(documents.conninfo))) == BYTE_ORDER


async def test_bytes_that_are_no_text(documents: Documents) -> None:
    """Case 67."""
    documents.create_table("bytea")
    documents.insert(b"\xff\xfe")
    async with documents.table() as table:
        found = await table.find([b"\xff\xfe", b"nothing"])
    assert list(found) == [b"\xff\xfe"]


async def test_keys_that_no_text_can_hold_are_in_no_row(documents: Documents) -> None:
    documents.insert("a")
    async with documents.table() as table:
        assert list(await table.find([b"\xff", b"a\0", b"a"])) == [b"a"]
        assert await table.find([]) == {}


async def test_more_rows_than_a_page_and_duplicates_across_pages(documents: Documents) -> None:
    documents.execute(
        "INSERT INTO file_revisions SELECT n, n / 2, 'k' || lpad((n / 3)::text, 6, '0'), NULL"
        f" FROM generate_series(0, {PAGE * 3 + 1}) AS n"
    )
    revisions = await read(RevisionAddress(documents.conninfo))
    assert [row.revision_id for row in revisions] == list(range(0, PAGE * 3 + 2, 3))


async def test_rows_are_counted_up_to_a_limit(documents: Documents) -> None:
    address = RevisionAddress(documents.conninfo)
    assert await counted(address, 2) == 0
    for key in ("a", "b", "c"):
        documents.insert(key)
    assert [await counted(address, limit) for limit in (2, 3, 100_001)] == [2, 3, 3]


async def test_checksums_as_text_and_as_bytes(documents: Documents) -> None:
    documents.insert("a", b"one")
    documents.execute("UPDATE file_revisions SET checksum_sha256 = upper(checksum_sha256)")
    address = RevisionAddress(documents.conninfo)
    assert [row.checksum for row in await read(address, checksums=True)] == [digest(b"one")]
    documents.execute(
        "ALTER TABLE file_revisions ALTER COLUMN checksum_sha256 TYPE bytea"
        " USING decode(checksum_sha256, 'hex')"
    )
    assert [row.checksum for row in await read(address, checksums=True)] == [digest(b"one")]
    documents.execute("UPDATE file_revisions SET checksum_sha256 = NULL")
    assert [row.checksum for row in await read(address, checksums=True)] == [None]


async def test_an_index_is_used_where_one_fits(documents: Documents) -> None:
    documents.create_table('text COLLATE "C"')
    documents.execute(
        "CREATE INDEX ON file_revisions (storage_key); INSERT INTO file_revisions"
        " SELECT n, n, md5(n::text), NULL FROM generate_series(1, 20000) AS n; ANALYZE"
    )
    order = postgres_order(KeyColumn("text", "C"), "storage_key")
    with psycopg.connect(documents.conninfo) as connection:
        statement = f"EXPLAIN SELECT * FROM file_revisions ORDER BY {order}"
        plan = (
            connection.execute("SET random_page_cost = 1.1")
            and connection.execute(statement.encode()).fetchall()
        )
    assert "Index Scan" in str(plan)


async def test_a_schema_may_be_named(documents: Documents) -> None:
    documents.execute('CREATE SCHEMA "My App"; ALTER TABLE file_revisions SET SCHEMA "My App"')
    assert await read(RevisionAddress(documents.conninfo, "My App.file_revisions")) == []
    with pytest.raises(NotFoundError) as caught:
        await read(RevisionAddress(documents.conninfo))
    assert "demo archive" in str(caught.value.remedy)


async def test_a_table_that_does_not_fit_is_named(documents: Documents) -> None:
    documents.execute("ALTER TABLE file_revisions DROP COLUMN document_id")
    with pytest.raises(RevisionsUnfitError) as caught:
        await read(RevisionAddress(documents.conninfo))
    assert "document_id" in str(caught.value.detail)


async def test_the_deadline_holds_for_each_page(documents: Documents) -> None:
    documents.insert("a")
    with psycopg.connect(documents.conninfo) as locker:
        locker.execute("LOCK TABLE file_revisions IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(RevisionsUnavailableError, match=r"within 0\.3 s"):
            await read(RevisionAddress(documents.conninfo), deadline=0.3)


SECRET = "hidden-word"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{SECRET}@127.0.0.1:1/db",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"mysql://user:{SECRET}@127.0.0.1:1/db",
        f"mysql://user:{SECRET}@127.0.0.1:none/db",
        f"postgresql://user:{SECRET}@[::1/db",
        f"oracle://user:{SECRET}@host/db",
    ],
)
async def test_no_error_shows_the_password(url: str) -> None:
    with pytest.raises((RevisionsUnavailableError, UsageError)) as caught:
        await read(RevisionAddress(url))
    error: LeitstandError = caught.value
    assert SECRET not in f"{error.as_dict()} {RevisionAddress(url)!r}"
    assert error.__suppress_context__ or error.__context__ is None


@pytest.fixture
def mysql_url(mariadb: MariaDb) -> Iterator[str]:
    name = f"app_{next(databases)}"
    mariadb.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield mariadb.url(name)
    mariadb.execute(f"DROP DATABASE {name}")


def fill(mariadb: MariaDb, url: str, key_type: str) -> None:
    rows = ", ".join(f"({n}, {n}, x'{key.encode().hex()}', NULL)" for n, key in enumerate(KEYS))
    mariadb.execute(
        f"USE {url.rpartition('/')[2]}; CREATE TABLE file_revisions (id int PRIMARY KEY,"
        f" document_id int, storage_key {key_type}, checksum_sha256 char(64));"
        f" INSERT INTO file_revisions VALUES {rows};"
    )


@pytest.mark.parametrize(
    "key_type",
    [
        "varchar(255)",
        "varchar(255) COLLATE utf8mb4_bin",
        "varchar(255) COLLATE utf8mb4_nopad_bin",
        "varbinary(255)",
        "text",
    ],
)
async def test_mariadb_in_byte_order(mariadb: MariaDb, mysql_url: str, key_type: str) -> None:
    fill(mariadb, mysql_url, key_type)
    address = RevisionAddress(mysql_url)
    assert keys(await read(address)) == BYTE_ORDER
    async with RevisionTable(address, 30) as table:
        assert list(await table.find([b"A.bin"])) == [b"A.bin"]


async def test_mariadb_in_many_pages(mariadb: MariaDb, mysql_url: str) -> None:
    fill(mariadb, mysql_url, "varchar(255)")
    mariadb.execute(
        f"USE {mysql_url.rpartition('/')[2]}; INSERT INTO file_revisions"
        f" SELECT seq, seq, md5(seq), sha2(seq, 256) FROM seq_100_to_{PAGE * 4}"
    )
    revisions = await read(RevisionAddress(mysql_url), checksums=True)
    assert len(revisions) == PAGE * 4 - 99 + len(KEYS)
    assert keys(revisions) == sorted(keys(revisions))
    assert await read(RevisionAddress(mysql_url, f"{mysql_url.rpartition('/')[2]}.file_revisions"))


async def test_mariadb_without_the_table_or_the_right_password(mysql_url: str) -> None:
    with pytest.raises(NotFoundError):
        await read(RevisionAddress(mysql_url))
    wrong = mysql_url.replace(":a%20pass", ":another%20pass")
    with pytest.raises(RevisionsUnavailableError) as caught:
        await read(RevisionAddress(wrong))
    assert "Access denied" in str(caught.value.detail)
    assert PASSWORD not in str(caught.value.as_dict())


async def test_sqlite(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "app.db") as connection:
        connection.execute(
            "CREATE TABLE file_revisions (id, document_id, storage_key COLLATE NOCASE,"
            " checksum_sha256)"
        )
        rows = [(number, number, key, None) for number, key in enumerate(KEYS)]
        connection.executemany("INSERT INTO file_revisions VALUES (?, ?, ?, ?)", rows)
    connection.close()
    address = RevisionAddress(f"sqlite:///{tmp_path / 'app.db'}")
    assert keys(await read(address)) == BYTE_ORDER


def test_which_order_is_asked_for() -> None:
    assert postgres_order(KeyColumn("text", "en_US.UTF-8"), "k") == 'k COLLATE "C"'
    assert postgres_order(KeyColumn("text", "C"), "k") == "k"
    assert postgres_order(KeyColumn("text", "ja_JP", "EUC_JP"), "k") == "convert_to(k, 'UTF8')"
    assert mysql_order(KeyColumn("varchar", "utf8mb4_nopad_bin"), "k") == "k"
    assert "BINARY" in mysql_order(KeyColumn("varchar", "utf8mb4_bin"), "k")
