"""Reconciliation of a table in PostgreSQL with a directory."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.reconcile import ReconcileOptions, reconcile
from leitstand.archive.integrity.reconciliation import Reconciliation
from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.store import ObjectFacts
from tests.archive.integrity.document_scene import AT_ONCE, Documents
from tests.archive.integrity.unprivileged import unprivileged


def keys(revisions: Sequence[Revision]) -> list[bytes]:
    return [revision.storage_key for revision in revisions]


def found(result: Reconciliation) -> tuple[list[bytes], list[bytes], list[bytes]]:
    return keys(result.missing.first), keys(result.orphaned.first), keys(result.existing.first)


async def test_each_sort_is_told_in_byte_order(documents: Documents) -> None:
    for key in ("b/2", "b.1", "ü", "a"):
        documents.add(key)
    for key in ("z", "b/0"):
        documents.insert(key)
    for orphan in (b"orphan", b"b/3", b"\xff\xfe", b"new\nline"):
        documents.put(orphan)
    result = await documents.reconcile()
    assert found(result) == (
        [b"b/0", b"z"],
        [b"b/3", b"new\nline", b"orphan", b"\xff\xfe"],
        [b"a", b"b.1", b"b/2", "ü".encode()],
    )
    assert (result.is_clean, result.is_incomplete) == (False, False)
    shown = result.as_dict()
    assert shown["missing_in_storage"][1] == {
        "storage_key": "z",
        "document_id": 2,
        "revision_id": 5,
    }
    assert shown["orphaned_in_storage"][-1] == {
        "storage_key": "\\xff\\xfe",
        "storage_key_base64": "//4=",
        "document_id": None,
        "revision_id": None,
    }
    again = (await documents.reconcile()).as_dict()
    for changing in ("generated_at", "duration"):
        del shown[changing], again[changing]
    assert again == shown
    json.dumps(shown)


async def test_clean_and_empty(documents: Documents) -> None:
    assert (await documents.reconcile()).is_clean  # the directory is not even there
    documents.insert("a")
    assert found(await documents.reconcile())[0] == [b"a"]


async def test_a_key_of_several_rows_is_told_once(documents: Documents) -> None:
    for number in (30, 4, 5):
        documents.insert("twice", number=number)
    documents.insert("once", number=1)
    result = await documents.reconcile()
    assert [(row.storage_key, row.revision_id) for row in result.missing.first] == [
        (b"once", 1),
        (b"twice", 4),
    ]


async def test_case_is_told_apart_and_the_near_miss_named(documents: Documents) -> None:
    """Case 66."""
    documents.insert("A.bin")
    documents.add("a.bin")
    result = await documents.reconcile()
    assert found(result)[0] == [b"A.bin"]
    assert result.notes.collisions == [[b"A.bin", b"a.bin"]]
    documents.put(b"A.bin")
    result = await documents.reconcile()
    assert result.is_clean
    assert result.as_dict()["collisions"] == [["A.bin", "a.bin"]]


async def test_an_unreadable_directory_gets_no_verdict(documents: Documents) -> None:
    """Case 63."""
    for key in ("a/1", "b/1", "c/1"):
        documents.add(key)
    documents.put(b"b/orphan")
    documents.insert("b/gone")
    documents.insert("b.gone")
    for path in (documents.root, *documents.root.iterdir()):
        path.chmod(0o755)
    (documents.root / "b").chmod(0)
    async with documents.table() as table:
        with unprivileged():
            result = await reconcile(table, documents.store(), AT_ONCE)
    assert found(result) == ([b"b.gone"], [], [b"a/1", b"c/1"])
    assert result.is_incomplete
    assert result.counts["unknown"] == 2
    assert result.as_dict()["unreadable"] == [{"prefix": "b/", "reason": "Permission denied"}]


class Busy(DirectoryStore):
    """A store whose application goes on at the worst moments."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents.root)
        self.documents = documents
        self.looks = 0

    async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
        """Before the first second look everything that was under way is done."""
        if self.looks == 0:
            self.documents.insert("uploaded")
            self.documents.execute("DELETE FROM file_revisions WHERE storage_key = 'deleted'")
            self.documents.put(b"late")
        self.looks += 1
        return await super().look(keys)


async def test_what_changes_during_the_run_is_no_finding(documents: Documents) -> None:
    """Case 64: uploads before their row, rows deleted with their object, objects that come late."""
    documents.put(b"uploaded")
    documents.insert("deleted")
    documents.insert("late")
    documents.insert("missing")
    documents.put(b"orphan")
    async with documents.table() as table:
        result = await reconcile(table, Busy(documents), AT_ONCE)
    assert found(result) == ([b"missing"], [b"orphan"], [b"late", b"uploaded"])
    assert result.existing.first[1].revision_id == 4


async def test_a_young_object_is_given_time_for_its_row(documents: Documents) -> None:
    """Case 64: the row is committed within the grace, long after the listing has ended."""
    documents.put(b"young")
    looked = asyncio.Event()

    class Watched(DirectoryStore):
        async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
            seen = await super().look(keys)
            looked.set()
            return seen

    async with documents.table() as table:
        store = Watched(documents.root)
        run = asyncio.create_task(reconcile(table, store, ReconcileOptions(grace=0.5)))
        await looked.wait()
        await asyncio.to_thread(documents.insert, "young")
        assert (await run).is_clean


async def test_an_old_object_is_not_waited_for(documents: Documents) -> None:
    documents.put(b"old")
    os.utime(documents.root / "old", (1e9, 1e9))
    async with asyncio.timeout(30):
        result = await documents.reconcile(ReconcileOptions(grace=3600))
    assert found(result)[1] == [b"old"]


async def test_long_lists_go_to_files(documents: Documents, tmp_path: Path) -> None:
    for number in range(5):
        documents.insert(f"{number}")
    options = ReconcileOptions(grace=0, limit=3, directory=tmp_path / "reports")
    result = await documents.reconcile(options)
    assert (result.missing.count, keys(result.missing.first)) == (5, [b"0", b"1", b"2"])
    file = tmp_path / "reports/missing_in_storage.jsonl"
    assert result.summary()["files"] == {"missing_in_storage": str(file)}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["storage_key"] for line in lines] == ["0", "1", "2", "3", "4"]
    documents.execute("DELETE FROM file_revisions WHERE id > 2")
    assert (await documents.reconcile(options)).summary()["files"] == {}
    assert list((tmp_path / "reports").iterdir()) == []


async def test_what_exists_may_be_counted_only(documents: Documents) -> None:
    documents.add("a")
    documents.put(b"b")
    result = await documents.reconcile(ReconcileOptions(grace=0, existing=False))
    assert (result.existing.count, result.existing.first) == (1, [])


async def test_a_failed_run_leaves_no_file(documents: Documents, tmp_path: Path) -> None:
    for number in range(5):
        documents.insert(f"a{number}")

    class Broken(DirectoryStore):
        calls = 0

        async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
            self.calls += 1
            if self.calls > 1:
                raise RuntimeError("broken")
            return await super().look(keys)

    options = ReconcileOptions(grace=0, limit=1, directory=tmp_path)
    async with documents.table() as table:
        with pytest.raises(RuntimeError):
            await reconcile(table, Broken(documents.root), options)
    assert list(tmp_path.iterdir()) == []
