"""Verification of backups beside ``gzip -t``, which only unpacks the same archives.

Leitstand unpacks too, and compares every file with the manifest, the archives with their recorded
SHA-256, and reads the WAL. Both find the archives in the page cache.
"""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.backup import repository
from bench.dataset import change, fill
from bench.server import BenchServer
from leitstand.archive.postgres.backup import take_full, take_incremental
from leitstand.archive.postgres.verify import verify_generation, verify_stage

ROUNDS = 5


def gzip_test(archives: list[Path]) -> None:
    """Unpack to nowhere, one after the other."""
    subprocess.run(["gzip", "-t", *map(str, archives)], check=True, timeout=600)


def in_turns(ours: Callable[[], None], theirs: Callable[[], None]) -> tuple[float, float]:
    """Median seconds of both, after one turn that does not count."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 1):
        for work, seconds in zip((ours, theirs), taken, strict=True):
            began = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - began)
    return median(taken[0][1:]), median(taken[1][1:])


def report(server: BenchServer) -> None:
    """Measure and print."""
    fill(server)
    take_full(repository(server))
    change(server, 0)
    generation = repository(server).directory / take_incremental(repository(server)).generation
    print(f"verify (archives in the page cache, median of {ROUNDS}):")
    _compare(server, "full backup", generation / "full")
    _compare(server, "generation", generation)


def _compare(server: BenchServer, what: str, path: Path) -> None:
    archives = sorted(path.rglob("*.tar.gz"))
    check = verify_stage if path.name == "full" else verify_generation
    ours, theirs = in_turns(
        lambda: _require(check(path, server.binaries).ok), lambda: gzip_test(archives)
    )
    size = sum(archive.stat().st_size for archive in archives)
    print(f"  {what}, {size / 1e6:.0f} MB packed: leitstand {ours:.2f} s, gzip -t {theirs:.2f} s")
    print(f"    {theirs / ours:.2f} x the speed of gzip -t")


def _require(sound: bool) -> None:
    assert sound
