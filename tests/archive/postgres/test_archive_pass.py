"""One archive, read once: whatever happens to it is noticed, and every byte is hashed."""

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leitstand.archive.postgres.archive_pass import ArchivePass, BackupFile
from leitstand.archive.postgres.regular_file import (
    ArchiveMissingError,
    ArchiveUnreadableError,
    read_small,
)
from leitstand.archive.postgres.stage import FileDigest
from leitstand.archive.postgres.tar_stream import Entry
from tests.archive.postgres.damage import flip
from tests.archive.postgres.tar_writer import Member, tar

MEMBERS = [Member(b"a", b"first " * 90), Member(b"folder", kind=b"5"), Member(b"folder/b", b"2nd")]
PACKED = gzip.compress(tar(MEMBERS), mtime=0)
Seen = list[tuple[Entry, bytes]]


class Recorder:
    """An observer that keeps everything."""

    def __init__(self) -> None:
        self.seen: Seen = []

    def begin(self, entry: Entry) -> None:
        self.seen.append((entry, b""))

    def piece(self, data: bytes) -> None:
        entry, before = self.seen.pop()
        self.seen.append((entry, before + data))

    def end(self) -> None:
        """All is kept already."""


def read(path: Path, content: bytes) -> tuple[ArchivePass, Seen]:
    """Write ``content`` and read it as an archive."""
    path.write_bytes(content)
    reading, recorder = ArchivePass(path, lambda _: None), Recorder()
    reading.run([recorder], lambda _: 1 << 20)
    assert reading.digest == FileDigest(len(content), hashlib.sha256(content).hexdigest())
    return reading, recorder.seen


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pass") / "base.tar.gz"


@pytest.fixture(scope="module")
def sound(base: Path) -> Seen:
    reading, seen = read(base, PACKED)
    assert reading.damage is None
    assert [(entry.name, content) for entry, content in seen] == [
        (member.name, member.content) for member in MEMBERS
    ]
    return seen


@given(at=st.integers(0, len(PACKED) - 1), mask=st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(
    base: Path, sound: Seen, at: int, mask: int
) -> None:
    reading, seen = read(base, flip(PACKED, at, mask))
    assert reading.damage is not None or seen == sound


@given(keep=st.integers(0, len(PACKED) - 1))
def test_every_cut_is_noticed(base: Path, keep: int) -> None:
    reading, _ = read(base, PACKED[:keep])
    assert reading.damage is not None


@given(at=st.integers(0, len(PACKED)), piece=st.binary(min_size=1, max_size=20))
def test_inserted_bytes_are_noticed(base: Path, sound: Seen, at: int, piece: bytes) -> None:
    reading, seen = read(base, PACKED[:at] + piece + PACKED[at:])
    assert reading.damage is not None or seen == sound


@pytest.mark.parametrize(
    ("make", "error", "problem"),
    [
        (lambda path: None, ArchiveMissingError, "does not exist"),
        (lambda path: path.mkdir(), ArchiveUnreadableError, "not a regular file"),
        (lambda path: path.symlink_to("/etc/passwd"), ArchiveUnreadableError, "it is a link"),
        (os.mkfifo, ArchiveUnreadableError, "not a regular file"),
    ],
    ids=["nothing", "directory", "link", "FIFO"],
)
def test_what_is_no_file_is_told_at_once(
    tmp_path: Path,
    make: Callable[[Path], object],
    error: type[ArchiveUnreadableError],
    problem: str,
) -> None:
    make(tmp_path / "base.tar.gz")
    with pytest.raises(error, match=problem):
        ArchivePass(tmp_path / "base.tar.gz", lambda _: None).run([], lambda _: 1)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "base.tar.gz"
    path.write_bytes(bytes(1 << 20))
    file = BackupFile(path, lambda _: None)
    try:
        next(chunks := file.chunks())
        os.truncate(path, 1000)
        with pytest.raises(ArchiveUnreadableError, match="shorter"):
            list(chunks)
    finally:
        file.close()


def test_small_files_have_a_limit(tmp_path: Path) -> None:
    (tmp_path / "backup_manifest").write_bytes(b"12345")
    counted: list[int] = []
    assert read_small(tmp_path / "backup_manifest", 5, counted.append) == b"12345"
    assert counted == [5]
    with pytest.raises(ArchiveUnreadableError, match="5 bytes, more than 4"):
        read_small(tmp_path / "backup_manifest", 4, counted.append)


def test_an_observer_may_end_the_pass(tmp_path: Path) -> None:
    class Full(Recorder):
        def piece(self, data: bytes) -> None:
            raise OSError(28, "No space left on device")

    (tmp_path / "base.tar.gz").write_bytes(PACKED)
    with pytest.raises(OSError, match="No space"):
        ArchivePass(tmp_path / "base.tar.gz", lambda _: None).run([Full()], lambda _: 1 << 20)
