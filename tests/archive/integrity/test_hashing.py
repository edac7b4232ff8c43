"""Hashing side by side: limits that hold over all hashers, stops that are prompt, little memory."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.hashed import Handful, Hashed, hash_object
from leitstand.archive.integrity.hasher import HasherStoppedError, TreeHasher
from leitstand.archive.integrity.hashing import Hashing
from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.tree_hashing import Allowance
from leitstand.archive.integrity.work_list import WorkList
from tests.archive.integrity.document_scene import digest
from tests.execution.processes import gone, parent, until

HUGE = 20 * 1024**3
UNLIMITED = float("inf")


def in_threads(root: Path) -> DirectoryStore:
    """A store whose objects are read by threads of this process, as those of S3 are."""
    store = DirectoryStore(root)
    store.tree = None
    return store


both = pytest.mark.parametrize("open_store", [DirectoryStore, in_threads])
OpenStore = Callable[[Path], DirectoryStore]


def revisions(count: int, content: bytes = b"content") -> list[Revision]:
    return [Revision(b"%03d" % number, 1, number, digest(content)) for number in range(count)]


def fill(root: Path, count: int, content: bytes = b"content") -> list[Revision]:
    rows = revisions(count, content)
    for row in rows:
        (root / row.storage_key.decode()).write_bytes(content)
    return rows


def all_of(hashing: Hashing) -> list[Hashed]:
    with hashing:
        return [hashed for handful in iter(hashing.next, None) for hashed in each_of(handful)]


def each_of(handful: Handful) -> Iterator[Hashed]:
    for revision, size in zip(handful.right, handful.sizes, strict=True):
        yield Hashed(revision, revision.checksum, size)
    yield from handful.wrong


@both
def test_each_object_is_hashed_once(tmp_path: Path, open_store: OpenStore) -> None:
    rows = fill(tmp_path, 300)
    (tmp_path / "007").write_bytes(b"other")
    hashing = Hashing(open_store(tmp_path), WorkList.of(rows), 2)
    done = all_of(hashing)
    assert Counter(hashed.revision for hashed in done) == Counter(rows)
    assert [hashed.actual for hashed in done if not hashed.is_right] == [digest(b"other")]
    assert hashing.bytes_read == 299 * 7 + 5


@both
def test_what_cannot_be_read_says_why(tmp_path: Path, open_store: OpenStore) -> None:
    """Also a directory, a fifo, a socket's place, links, and names that no file can have."""
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "above").symlink_to("/etc")
    keys = [b"directory", b"fifo", b"link", b"above/passwd", b"absent", b"../x", b"a\0b", b"\xff"]
    rows = [Revision(key, 1, 1, "") for key in [*keys, b"n" * 300]]
    done = {
        hashed.revision.storage_key: hashed
        for hashed in all_of(Hashing(open_store(tmp_path), WorkList.of(rows), 2))
    }
    assert all(done[key].missing for key in keys)
    assert done[b"fifo"].error == "no object fifo: what is there is no regular file"
    long = done[b"n" * 300]
    assert (long.missing, long.actual) == (False, None)
    assert str(long.error).endswith("cannot be read: File name too long")


@both
def test_the_rate_is_kept_by_all_together(tmp_path: Path, open_store: OpenStore) -> None:
    rows = fill(tmp_path, 1, b"x" * 300_000) * 64
    began = time.monotonic()
    assert len(all_of(Hashing(open_store(tmp_path), WorkList.of(rows), 2, max_rate=40e6))) == 64
    assert time.monotonic() - began >= 0.4  # 19.2 MB


@both
def test_a_budget_is_crossed_by_one_object_for_each_hasher_at_most(
    tmp_path: Path, open_store: OpenStore
) -> None:
    rows = fill(tmp_path, 100, b"x" * 1000)
    alone = Hashing(open_store(tmp_path), WorkList.of(rows), 1, budget=3500)
    assert len(all_of(alone)) == 4
    assert 4 <= len(all_of(Hashing(open_store(tmp_path), WorkList.of(rows), 2, budget=3500))) <= 5


@both
def test_a_stop_is_prompt(tmp_path: Path, open_store: OpenStore) -> None:
    """In the middle of an object for which it would wait for hours; a waiting reader is let go."""
    rows = fill(tmp_path, 4, b"x" * 1_000_000)
    began = time.monotonic()
    with Hashing(open_store(tmp_path), WorkList.of(rows), 2, max_rate=100) as hashing:
        reader = threading.Thread(target=hashing.next)
        reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert time.monotonic() - began < 10
    assert hashing.next() is None


def test_large_objects_are_shared_out(tmp_path: Path) -> None:
    """Nobody keeps objects for itself that others could be reading."""
    rows = fill(tmp_path, 6, b"x" * 1_000_000)
    began = time.monotonic()
    with Hashing(DirectoryStore(tmp_path), WorkList.of(rows), 2, max_rate=6e6) as hashing:
        handfuls = list(iter(hashing.next, None))
    assert [len(handful) for handful in handfuls] == [1] * 6
    assert time.monotonic() - began >= 0.9


def test_a_hasher_that_died_is_an_error(tmp_path: Path) -> None:
    rows = fill(tmp_path, 1)
    allowance = Allowance.begin(UNLIMITED, UNLIMITED)
    hasher = TreeHasher(os.fsencode(tmp_path), allowance)
    try:
        assert hasher.hash(rows).right == rows
        hasher.stop()
        with pytest.raises(HasherStoppedError):
            hasher.hash(rows)
    finally:
        hasher.close()
        allowance.close()


PARENT = """
import sys
from pathlib import Path
from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.hashing import Hashing
from leitstand.archive.integrity.revision import Revision
from leitstand.archive.integrity.work_list import WorkList
rows = [Revision(b"000", 1, 1, "")] * 2
with Hashing(DirectoryStore(Path(sys.argv[1])), WorkList.of(rows), 2, max_rate=100) as hashing:
    print("reading", flush=True)
    hashing.next()
"""


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def test_hashers_die_with_whoever_started_them(tmp_path: Path) -> None:
    """Killed while they wait for the rate; and they hold no database driver meanwhile."""
    fill(tmp_path, 1, b"x" * 1_000_000)
    argv = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading\n"
        hashers = [pid for pid in pids() if parent(pid) == process.pid]
        assert len(hashers) == 2
        assert not any("psycopg" in Path(f"/proc/{pid}/maps").read_text() for pid in hashers)
        process.send_signal(signal.SIGKILL)
    until(lambda: gone(*hashers), 10)


SHORT = """
import sys
from pathlib import Path
from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.tree_hashing import RunningHash
running = RunningHash()
def spend(count):
    if running.size > 1.1e9:
        raise StopIteration
try:
    running.take_in(DirectoryStore(Path(sys.argv[1])).read(b"sparse"), spend)
except StopIteration:
    print(running.size)
"""


def test_memory_does_not_grow_with_a_file(tmp_path: Path) -> None:
    """Case 68: a sparse file of 20 GB, 512 MB of address space; 1 GB of it is enough to tell."""
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(HUGE)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (512 * 1024**2,) * 2)

    done = subprocess.run(
        [sys.executable, "-c", SHORT, tmp_path],
        capture_output=True,
        preexec_fn=limit,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 10**9


def test_hashing_agrees(tmp_path: Path) -> None:
    (row,) = fill(tmp_path, 1, b"x" * 1_000_000)
    assert hash_object(DirectoryStore(tmp_path), row).is_right
