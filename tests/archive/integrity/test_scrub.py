"""Scrubbing a directory whose checksums are in PostgreSQL."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from leitstand.archive.integrity.directory_store import DirectoryStore, unreadable
from leitstand.archive.integrity.quota import Quota
from leitstand.archive.integrity.remote_store import RemoteStore
from leitstand.archive.integrity.revision import RevisionPage
from leitstand.archive.integrity.revision_address import RevisionAddress
from leitstand.archive.integrity.revision_table import RevisionsUnavailableError, RevisionTable
from leitstand.archive.integrity.scrub import ScrubOptions, scrub
from leitstand.archive.integrity.scrub_ledger import (
    MarkResult,
    Marks,
    ScrubLedger,
    failure_counts,
)
from leitstand.archive.integrity.scrubbing import Scrubbing
from leitstand.archive.integrity.store import Store
from leitstand.archive.integrity.tree_hashing import pieces_of
from leitstand.store.database import Database
from tests.archive.integrity.document_scene import Documents, digest
from tests.archive.integrity.s3_server import S3Server

ALL = ScrubOptions(Quota(count=1000))


async def scrubbed(
    documents: Documents,
    database: Database,
    options: ScrubOptions = ALL,
    store: Store | None = None,
) -> Scrubbing:
    store = store or documents.store()
    ledger = await ScrubLedger.of(database, store.name)
    async with documents.table() as table:
        return await scrub(table, store, ledger, options)


async def failures(database: Database) -> int:
    return sum((await failure_counts(database)).values())


async def test_damage_is_found_once_in_a_cooldown(documents: Documents, database: Database) -> None:
    for key in ("a", "b", "c/d"):
        documents.add(key)
    documents.put(b"b", b"c0ntent")
    result = await scrubbed(documents, database)
    assert [finding.as_dict() for finding in result.findings] == [
        {
            "storage_key": "b",
            "document_id": 1,
            "revision_id": 2,
            "expected_checksum": digest(b"content"),
            "actual_checksum": digest(b"c0ntent"),
            "error": None,
        }
    ]
    assert (result.sampled, result.bytes_read) == (3, 21)
    assert result.coverage is not None
    assert (result.coverage.percent, result.coverage.never) == (100, 0)
    assert await failures(database) == 1

    again = await scrubbed(documents, database)
    assert (again.sampled, again.findings, await failures(database)) == (0, [], 1)

    at_once = replace(ALL, cooldown=timedelta(0))
    assert len((await scrubbed(documents, database, at_once)).findings) == 1
    documents.put(b"b")
    assert (await scrubbed(documents, database, at_once)).is_clean
    assert await failures(database) == 2  # what was counted stays so


async def test_the_sample_rotates(documents: Documents, database: Database) -> None:
    for number in range(5):
        documents.add(f"{number}")
    two = ScrubOptions(Quota(count=2))
    assert [(await scrubbed(documents, database, two)).sampled for _ in range(4)] == [2, 2, 1, 0]


async def test_what_cannot_be_checked_is_counted(documents: Documents, database: Database) -> None:
    """No checksum, no object, no row any more: none of them is a finding."""
    documents.add("good")
    documents.add("unknown")
    documents.execute("UPDATE file_revisions SET checksum_sha256 = NULL WHERE id = 2")
    documents.insert("missing")
    documents.put(b"orphan")
    result = await scrubbed(documents, database)
    assert (result.sampled, result.missing, result.is_clean) == (1, 1, True)
    assert result.coverage is not None
    assert result.coverage.as_dict() | {"oldest_days": 0} == {
        "total": 2,
        "checked": 1,
        "within_days": 30,
        "percent": 50,
        "never": 1,
        "oldest_days": 0,
        "uncheckable": 1,
    }


async def test_the_state_of_deleted_documents_goes(
    documents: Documents, database: Database
) -> None:
    for key in ("a", "b", "c"):
        documents.add(key)
    await scrubbed(documents, database)
    documents.execute("DELETE FROM file_revisions WHERE storage_key IN ('a', 'c')")
    await scrubbed(documents, database)
    ledger = await ScrubLedger.of(database, documents.store().name)
    assert list(await ledger.state(None, None)) == [b"b"]


class Busy(DirectoryStore):
    """A store whose application acts while an object is read for the first time."""

    def __init__(self, documents: Documents, statement: str) -> None:
        super().__init__(documents.root)
        self.tree = None  # what it does has to happen in this process
        self.documents, self.statement = documents, statement

    def read(self, key: bytes) -> Iterator[memoryview]:
        yield from super().read(key)
        if self.statement:
            self.documents.execute(self.statement)
            self.statement = ""


async def test_a_row_that_went_meanwhile_is_skipped_unmarked(
    documents: Documents, database: Database
) -> None:
    documents.add("a")
    documents.put(b"a", b"other")
    store = Busy(documents, "DELETE FROM file_revisions")
    result = await scrubbed(documents, database, store=store)
    assert (result.skipped, result.sampled, result.findings) == (1, 0, [])
    ledger = await ScrubLedger.of(database, store.name)
    assert await ledger.state(None, None) == {}


async def test_a_document_that_was_replaced_meanwhile_is_right(
    documents: Documents, database: Database
) -> None:
    documents.add("a")
    documents.put(b"a", b"new")
    statement = f"UPDATE file_revisions SET checksum_sha256 = '{digest(b'new')}'"
    result = await scrubbed(documents, database, store=Busy(documents, statement))
    assert (result.sampled, result.is_clean) == (1, True)


async def test_an_unreadable_object_is_a_finding(documents: Documents, database: Database) -> None:
    documents.add("a")
    memory = os.open("/proc/self/mem", os.O_RDONLY)  # reading it at 0 is an input/output error

    class BadSector(DirectoryStore):
        def read(self, key: bytes) -> Iterator[memoryview]:
            try:
                yield from pieces_of(memory, memoryview(bytearray(10)))
            except OSError as error:
                raise unreadable(key, error.errno, str(error.strerror)) from error

    store = BadSector(documents.root)
    store.tree = None
    try:
        result = await scrubbed(documents, database, store=store)
    finally:
        os.close(memory)
    assert [(f.actual, f.error) for f in result.findings] == [
        (None, "a cannot be read: Input/output error")
    ]
    assert await failures(database) == 1


async def test_two_scrubs_at_once_count_a_finding_once(database: Database) -> None:
    ledger = await ScrubLedger.of(database, "s3://x")
    sampled_at = await ledger.now()
    marks = Marks()
    marks.add(b"", MarkResult.FAILED, 1)
    marks.add_right([b"b c"], [1])
    assert [await ledger.mark(marks, sampled_at) for _ in range(2)] == [2, 0]
    assert sorted(await ledger.state(None, None)) == [b"", b"b c"]
    assert await failures(database) == 1


async def test_a_killed_scrub_leaves_no_wrong_state(
    documents: Documents, database: Database
) -> None:
    """It is cancelled while it reads; what it had not read is still to be read."""
    for number in range(3):
        documents.add(f"{number}", b"x" * 100_000)
    reading = threading.Event()

    class Endless(DirectoryStore):
        def read(self, key: bytes) -> Iterator[memoryview]:
            for piece in super().read(key):
                while True:
                    reading.set()
                    yield piece

    store = Endless(documents.root)
    store.tree = None
    task = asyncio.create_task(scrubbed(documents, database, replace(ALL, threads=1), store))
    assert await asyncio.to_thread(reading.wait, 15)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await scrubbed(documents, database)
    assert (result.sampled, result.is_clean) == (3, True)


async def test_reading_begins_while_the_survey_goes_on(
    documents: Documents, database: Database
) -> None:
    """Where nothing has to be left out; what the survey fails with is what the scrub fails with."""
    documents.add("a")
    read = threading.Event()
    told: list[tuple[int, int]] = []

    class Observed(DirectoryStore):
        def read(self, key: bytes) -> Iterator[memoryview]:
            yield from super().read(key)
            read.set()

    class Breaking(RevisionTable):
        async def pages(self, *, checksums: bool = False) -> AsyncGenerator[RevisionPage]:
            async for page in super().pages(checksums=checksums):
                yield page
            assert await asyncio.to_thread(read.wait, 30)
            raise RevisionsUnavailableError("it has gone away")

    store = Observed(documents.root)
    store.tree = None
    ledger = await ScrubLedger.of(database, store.name)
    async with Breaking(RevisionAddress(documents.conninfo), 30) as table:
        with pytest.raises(RevisionsUnavailableError, match="gone away"):
            await scrub(table, store, ledger, ALL, lambda *each: told.append(each))
    assert told == []


async def test_rows_that_came_since_they_were_counted_wait_for_their_turn(
    documents: Documents, database: Database
) -> None:
    documents.add("a")
    store = documents.store()
    ledger = await ScrubLedger.of(database, store.name)

    class Growing(RevisionTable):
        async def count(self, limit: int) -> int:
            rows = await super().count(limit)
            documents.add("b")
            return rows

    one = ScrubOptions(Quota(count=1))
    async with Growing(RevisionAddress(documents.conninfo), 30) as table:
        result = await scrub(table, store, ledger, one)
    assert (result.sampled, result.coverage and result.coverage.never) == (1, 1)
    assert (await scrubbed(documents, database, one)).sampled == 1


async def test_budgets_by_the_day(documents: Documents, database: Database) -> None:
    for number in range(4):
        documents.add(f"{number}", b"x" * 1000)
    at_once = replace(ALL, cooldown=timedelta(0), threads=1)
    share = replace(at_once, quota=Quota.parse("50%"))
    assert [(await scrubbed(documents, database, share)).sampled for _ in range(2)] == [2, 0]
    data = replace(at_once, quota=Quota.parse("3500B"))
    # 2,000 bytes were read today; the object that crosses the budget is read whole.
    assert [(await scrubbed(documents, database, data)).sampled for _ in range(2)] == [2, 0]


async def test_objects_of_an_s3_server(
    documents: Documents, database: Database, s3: S3Server
) -> None:
    for key in ("good", "bad"):
        documents.insert(key)
    (s3.root / "documents/good").write_bytes(b"content")
    (s3.root / "documents/bad").write_bytes(b"c0ntent")
    store = RemoteStore(s3.address("documents"))
    result = await scrubbed(documents, database, store=store)
    assert [finding.revision.storage_key for finding in result.findings] == [b"bad"]
    assert result.sampled == 2
