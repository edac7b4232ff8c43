"""A scrub of 4 GB beside two parallel ``openssl dgst -sha256``, which only hash.

Once in four large files and once in 100,000 small ones. Leitstand also reads the table of
revisions, samples, and notes every object in its database.
"""

import asyncio
import hashlib
import os
import subprocess
import tempfile
import threading
import time
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Self

import psycopg

from bench.server import BenchServer
from leitstand.archive.integrity.directory_store import DirectoryStore
from leitstand.archive.integrity.quota import Quota
from leitstand.archive.integrity.revision_address import RevisionAddress
from leitstand.archive.integrity.revision_table import RevisionTable
from leitstand.archive.integrity.scrub import ScrubOptions, scrub
from leitstand.archive.integrity.scrub_ledger import ScrubLedger
from leitstand.store.database import Database
from leitstand.store.schema import upgrade

TOTAL = int(os.environ.get("BENCH_BYTES", str(4 * 10**9)))
SMALL = int(os.environ.get("BENCH_SMALL_FILES", "100000"))
ROUNDS = 3


def report(server: BenchServer) -> None:
    """Measure and print."""
    conninfo = server.create_database("objects")
    upgrade(conninfo)
    with tempfile.TemporaryDirectory(prefix="ls-bench-", dir="/tmp") as directory:
        for name, count in (("large", 4), ("small", SMALL)):
            root = Path(directory) / name
            _fill(root, count)
            _record(conninfo, _digests(root))
            memory = (
                _Memory()
            )  # whose watching takes a tenth of the processors: not while it counts
            asyncio.run(_scrubbed(conninfo, root, count, memory))
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(asyncio.run(_scrubbed(conninfo, root, count)))
                began = time.perf_counter()
                _openssl(root)
                theirs.append(time.perf_counter() - began)
            mine, other = median(ours), median(theirs)
            print(
                f"scrub, {count} files, {TOTAL / 1e9:.1f} GB: leitstand {mine:.2f} s,"
                f" openssl {other:.2f} s"
            )
            print(f"  {other / mine:.2f} x the speed of two openssl dgst -sha256")
            print(f"  {memory.grown / 1e6:.0f} MB of memory above idle, hashing processes included")


def _fill(root: Path, count: int) -> None:
    piece = os.urandom(1_000_000)
    size = TOTAL // count
    for number in range(count):
        path = root / f"{number % 256:02x}" / f"{number:08d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(number.to_bytes(8, "big"))
            for start in range(0, size, len(piece)):
                file.write(piece[: size - start])


def _openssl(root: Path) -> None:
    """Hash all files, and throw the digests away: both processes write to one place."""
    at_a_time = "2" if sum(1 for _ in root.iterdir()) < 100 else "500"
    find = f"find . -type f -print0 | xargs -0 -P 2 -n {at_a_time} openssl dgst -sha256 -r"
    subprocess.run(["sh", "-c", find], cwd=root, stdout=subprocess.DEVNULL, check=True)


def _digests(root: Path) -> dict[str, str]:
    """The digests of all files, by key."""
    digests = {}
    for path in root.glob("*/*"):
        with path.open("rb") as file:
            digests[str(path.relative_to(root))] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _record(conninfo: str, digests: dict[str, str]) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS file_revisions; CREATE TABLE file_revisions (id bigint,"
            ' document_id bigint, storage_key text COLLATE "C" PRIMARY KEY, checksum_sha256 text)'
        )
        with connection.cursor().copy("COPY file_revisions FROM STDIN") as copy:
            for number, (key, digest) in enumerate(sorted(digests.items())):
                copy.write_row((number, number, key, digest))
        connection.execute("ANALYZE file_revisions")


class _Memory:
    """Watches how much memory this process and its children have, beyond what it had at first."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._idle = 0
        self.grown = 0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._idle = _resident(os.getpid())
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            pids = [os.getpid(), *map(int, children)]
            self.grown = max(self.grown, sum(map(_resident, pids)) - self._idle)


def _resident(pid: int) -> int:
    """Bytes in memory that no other process shares with it: proc_pid_smaps_rollup(5)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    fields = (line.split() for line in lines if line.startswith(("Private_", "Swap:")))
    return 1024 * sum(int(field[1]) for field in fields)


async def _scrubbed(conninfo: str, root: Path, count: int, memory: _Memory | None = None) -> float:
    options = ScrubOptions(Quota(count=count), cooldown=timedelta(0))
    store = DirectoryStore(root)
    async with (
        Database(conninfo) as database,
        RevisionTable(RevisionAddress(conninfo), 60) as table,
    ):
        ledger = await ScrubLedger.of(database, store.name)
        with memory or nullcontext():
            began = time.perf_counter()
            result = await scrub(table, store, ledger, options)
            seconds = time.perf_counter() - began
    assert (result.sampled, result.findings) == (count, []), result.summary()
    return seconds
