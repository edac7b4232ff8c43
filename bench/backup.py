"""Backups beside PostgreSQL's own programs: ``pg_basebackup`` and then ``pg_verifybackup``.

The floor does what PostgreSQL offers for the same proof, each step in the fastest form that it has:
``pg_basebackup`` (tar, gzip of the same level, streamed WAL, made durable), ``pg_verifybackup``
on the archives without their WAL, which it cannot read there, then ``tar`` for the WAL and
``pg_waldump`` over the ranges of the manifest, which has the default checksums.
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench.dataset import change, fill
from bench.server import BenchServer
from leitstand.archive.postgres.backup import Repository, take_full, take_incremental
from leitstand.archive.postgres.connection import Source
from leitstand.settings.sections import PostgresBackupSettings
from leitstand.store.binaries import Binaries

Work = Callable[[], None]

ROUNDS = 3
LEVELS = (1, 2, 3, 6, 9)
DEFAULT_LEVEL = PostgresBackupSettings().compression


@dataclass(frozen=True)
class Floor:
    """PostgreSQL's own programs, with the same level as the contender."""

    conninfo: str
    binaries: Binaries
    level: int

    def take(self, directory: Path, parent: Path | None = None) -> None:
        """Take a backup into the new ``directory``, an increment to ``parent``; verify it."""
        self._copy(directory, parent)
        self._verify(directory)

    def _copy(self, directory: Path, parent: Path | None) -> None:
        options = ["-Ft", f"--compress=client-gzip:{self.level}", "-Xstream", "--checkpoint=fast"]
        if parent is not None:
            options.append(f"--incremental={parent / 'backup_manifest'}")
        self._run("pg_basebackup", "-d", self.conninfo, "-D", str(directory), *options)

    def _verify(self, directory: Path) -> None:
        self._run("pg_verifybackup", "-q", "-n", str(directory))
        with tempfile.TemporaryDirectory(dir=directory.parent) as wal:
            archive = str(directory / "pg_wal.tar.gz")
            subprocess.run(["tar", "-xzf", archive, "-C", wal], check=True, timeout=600)
            for part in json.loads((directory / "backup_manifest").read_bytes())["WAL-Ranges"]:
                where = [f"-t{part['Timeline']}", f"-s{part['Start-LSN']}", f"-e{part['End-LSN']}"]
                self._run("pg_waldump", "-q", "-p", wal, *where)

    def _run(self, program: str, *arguments: str) -> None:
        argv = [self.binaries.path(program), *arguments]
        subprocess.run(argv, check=True, timeout=600, capture_output=True)


def repository(server: BenchServer, level: int = DEFAULT_LEVEL) -> Repository:
    """Leitstand's backups of ``server``, beside its data."""
    source = Source.parse(server.conninfo())
    return Repository(source, server.directory / "backups", server.binaries, level)


def floor(server: BenchServer, level: int = DEFAULT_LEVEL) -> Floor:
    """The peer of ``repository``."""
    return Floor(server.conninfo(), server.binaries, level)


def full_backups(server: BenchServer) -> tuple[float, float]:
    """Median seconds for a full backup: Leitstand and the floor."""
    directory = server.directory / "floor"

    def theirs() -> None:
        floor(server).take(directory)

    def ours() -> None:
        take_full(repository(server))

    seconds = []
    for turn in range(ROUNDS):
        shutil.rmtree(directory, ignore_errors=True)
        seconds.append(_both(turn, ours, theirs))
    return _medians(seconds)


def increments(server: BenchServer) -> tuple[float, float]:
    """Median seconds for an increment, each to its last backup, after the same changes."""
    parents = [server.directory / "floor"]

    def theirs() -> None:
        directory = server.directory / f"floor-{len(parents)}"
        floor(server).take(directory, parents[-1])
        parents.append(directory)

    def ours() -> None:
        take_incremental(repository(server))

    seconds = []
    for turn in range(ROUNDS):
        change(server, turn)
        seconds.append(_both(turn, ours, theirs))
    return _medians(seconds)


def levels(server: BenchServer) -> dict[int, tuple[float, int]]:
    """Seconds and bytes of a full backup by gzip level."""
    found = {}
    for level in LEVELS:
        at_level = replace(repository(server, level), directory=server.directory / "levels")
        taken = take_full(at_level)
        found[level] = (taken.duration, taken.bytes)
        shutil.rmtree(at_level.directory)
    return found


def report(server: BenchServer) -> None:
    """Measure and print."""
    size = fill(server)
    print(f"backup of {size / 1e6:.0f} MB, verified (gzip {DEFAULT_LEVEL}, median of {ROUNDS}):")
    _print("full", *full_backups(server))
    _print("increment", *increments(server))
    print("full backup by gzip level:")
    for level, (seconds, compressed) in levels(server).items():
        print(f"  {level}  {seconds:6.2f} s  {compressed / 1e6:6.1f} MB")


def _both(turn: int, ours: Work, theirs: Work) -> tuple[float, float]:
    """Seconds of each; who begins alternates, as the first one finds a busier disk."""
    if turn % 2:
        second, first = _seconds(theirs), _seconds(ours)
    else:
        first, second = _seconds(ours), _seconds(theirs)
    return first, second


def _seconds(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _medians(seconds: list[tuple[float, float]]) -> tuple[float, float]:
    return median(ours for ours, _ in seconds), median(theirs for _, theirs in seconds)


def _print(what: str, ours: float, theirs: float) -> None:
    print(f"  {what}: leitstand {ours:.2f} s, pg_basebackup and pg_verifybackup {theirs:.2f} s")
    print(f"    {ours / theirs:.2f} x their time")
