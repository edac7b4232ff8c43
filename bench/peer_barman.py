"""Leitstand and Barman on one server: one full backup, six increments; verify, restore, damage.

Barman keeps plain directories and an archive of WAL beside them, Leitstand compressed archives; so
the same damage is done to the file that corresponds. Barman's verification is
``barman verify-backup`` of each backup of the chain, its restore ``barman restore`` of the last.
"""

import getpass
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.backup import repository
from bench.dataset import change, fill
from bench.server import BenchServer
from leitstand.archive.postgres.backup import take_full, take_incremental
from leitstand.archive.postgres.materialise import materialise
from leitstand.archive.postgres.verify import verify_generation
from leitstand.errors import LeitstandError
from leitstand.store.account import server_account

INCREMENTS = 6
PATIENCE = 120.0
CONFIGURATION = """\
[barman]
barman_user = {user}
barman_home = {home}
configuration_files_directory = {home}/conf.d
barman_lock_directory = {home}
log_file = {home}/log
[main]
description = main
conninfo = {conninfo}
streaming_conninfo = {conninfo}
backup_method = postgres
immediate_checkpoint = true
streaming_archiver = on
slot_name = barman
create_slot = auto
path_prefix = {programs}
local_staging_path = {home}/staging
"""


@dataclass
class Barman:
    """Barman's backups of a server, below ``home``."""

    server: BenchServer
    program: Path
    home: Path
    backups: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Write its configuration."""
        for name in ("conf.d", "staging"):
            (self.home / name).mkdir(parents=True)
        self._file.write_text(
            CONFIGURATION.format(
                user=getpass.getuser(),
                home=self.home,
                conninfo=self.server.conninfo(),
                programs=Path(self.server.binaries.path("pg_basebackup")).parent,
            )
        )

    @property
    def _file(self) -> Path:
        return self.home / "barman.conf"

    @property
    def base(self) -> Path:
        """Where its backups are."""
        return self.home / "main" / "base"

    def segments(self) -> list[Path]:
        """The archived WAL, the oldest first."""
        return sorted((self.home / "main" / "wals").glob("*/0*"))

    def call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run one command to its end."""
        argv = [str(self.program), "-c", str(self._file), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Its WAL receiver is at work, which a backup needs."""
        argv = [str(self.program), "-c", str(self._file), "receive-wal", "main"]
        with (self.home / "receiver").open("w") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log)
        try:
            until = time.monotonic() + PATIENCE
            while self.call("check", "main").returncode:
                assert time.monotonic() < until, self.call("check", "main").stdout
                self.call("switch-wal", "--force", "--archive", "main")
            yield
        finally:
            process.terminate()
            process.wait(60)

    def take(self) -> None:
        """A full backup first, then increments, each on the one before."""
        parent = ["--incremental", self.backups[-1]] if self.backups else []
        done = self.call("backup", "--wait", *parent, "main")
        assert done.returncode == 0, done.stdout + done.stderr
        listed = self.call("list-backups", "--minimal", "main").stdout.split()
        self.backups.append(listed[0])

    def verify(self) -> bool:
        """Whether each backup of the chain verifies."""
        return not any(self.call("verify-backup", "main", i).returncode for i in self.backups)

    def restore(self) -> bool:
        """Whether the last backup is restored."""
        target = self.home / "restored"
        shutil.rmtree(target, ignore_errors=True)
        done = self.call("restore", "main", self.backups[-1], str(target))
        shutil.rmtree(target, ignore_errors=True)
        return done.returncode == 0


@dataclass
class Ours:
    """Leitstand's generation."""

    server: BenchServer
    generation: Path

    @property
    def stages(self) -> list[Path]:
        """The full backup and the increments, in order."""
        return [self.generation / "full", *sorted((self.generation / "incremental").iterdir())]

    def verify(self) -> bool:
        """Whether the generation verifies."""
        return verify_generation(self.generation, self.server.binaries).ok

    def restore(self) -> bool:
        """Whether the last stage is restored."""
        target = self.server.directory / "restored"
        try:
            materialise(
                self.generation,
                target,
                self.server.binaries,
                server_account(),
                self.server.directory / "tablespaces",
                durable=True,
            )
        except LeitstandError:
            return False
        finally:
            shutil.rmtree(target, ignore_errors=True)
        return True


Damage = Callable[[], None]


@dataclass(frozen=True)
class Planted:
    """A damage as it is done to either; ``touched`` is kept aside and put back."""

    name: str
    ours: tuple[Path, Damage]
    theirs: tuple[Path, Damage]


def flip(path: Path) -> None:
    """Change a byte in the middle."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def halve(path: Path) -> None:
    """Cut in the middle."""
    os.truncate(path, path.stat().st_size // 2)


def without_member(archive: Path) -> None:
    """Pack the archive again without its largest file."""
    other = archive.with_suffix(".new")
    with tarfile.open(archive) as source, tarfile.open(other, "w:gz", compresslevel=1) as target:
        members = source.getmembers()
        left_out = max(members, key=lambda member: member.size)
        for member in members:
            if member is not left_out:
                target.addfile(member, source.extractfile(member) if member.isfile() else None)
    other.replace(archive)


def largest(directory: Path) -> Path:
    """The largest file of a backup's data: a table, or what changed in it."""
    files = (path for path in (directory / "data" / "base").rglob("*") if path.is_file())
    return max(files, key=lambda path: path.stat().st_size)


def exchange(first: Path, second: Path) -> None:
    """Each by the other's name."""
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def planted(ours: Ours, barman: Barman) -> list[Planted]:
    """The damages, each alone."""
    full, *increments = ours.stages
    theirs = [barman.base / name for name in barman.backups]
    middle, wal = INCREMENTS // 2, barman.segments()[-1]
    tar, own_wal = "base.tar.gz", increments[-1] / "pg_wal.tar.gz"
    table, change_, last = largest(theirs[0]), largest(theirs[middle]), largest(theirs[-1])
    manifest = theirs[middle] / "data" / "backup_manifest"
    own_middle = increments[middle - 1]

    def on(path: Path, damage: Callable[[Path], None]) -> tuple[Path, Damage]:
        return path, lambda: damage(path)

    own_swap = (ours.generation, lambda: exchange(increments[1], increments[2]))
    swap = (barman.base, lambda: exchange(theirs[2] / "data", theirs[3] / "data"))
    return [
        Planted("a byte in the full backup", on(full / tar, flip), on(table, flip)),
        Planted("a byte in an increment", on(own_middle / tar, flip), on(change_, flip)),
        Planted("an increment's file cut", on(own_middle / tar, halve), on(change_, halve)),
        Planted(
            "a file gone from the last increment",
            on(increments[-1] / tar, without_member),
            on(last, Path.unlink),
        ),
        Planted("a byte in the last WAL", on(own_wal, flip), on(wal, flip)),
        Planted("the last WAL gone", on(own_wal, Path.unlink), on(wal, Path.unlink)),
        Planted(
            "a manifest gone",
            on(own_middle / "backup_manifest", Path.unlink),
            on(manifest, Path.unlink),
        ),
        Planted(
            "a byte in a manifest", on(own_middle / "backup_manifest", flip), on(manifest, flip)
        ),
        Planted(
            "a middle increment gone",
            on(own_middle, shutil.rmtree),
            on(theirs[middle], shutil.rmtree),
        ),
        Planted("two increments exchanged", own_swap, swap),
    ]


@contextmanager
def damaged(touched: Path, damage: Damage) -> Iterator[None]:
    """The damage is done meanwhile, and undone from a copy."""
    aside = touched.with_name(f"{touched.name}.before")
    if touched.is_dir():
        shutil.copytree(touched, aside, symlinks=True)
    else:
        shutil.copy2(touched, aside)
    try:
        damage()
        yield
    finally:
        if touched.is_dir():
            shutil.rmtree(touched)
        with suppress(FileNotFoundError):
            touched.unlink()
        aside.rename(touched)


def timed(work: Callable[[], bool]) -> float:
    """Seconds of a work that succeeds."""
    began = time.perf_counter()
    assert work()
    return time.perf_counter() - began


def report(server: BenchServer, programs: Path) -> None:
    """Measure and print, as tables for docs/comparison.md."""
    barman = Barman(server, programs / "barman", server.directory / "barman")
    barman.prepare()
    fill(server)
    with barman.receiving():
        generation = take_full(repository(server)).generation
        barman.take()
        for turn in range(INCREMENTS):
            change(server, turn)
            take_incremental(repository(server))
            barman.take()
    ours = Ours(server, repository(server).directory / generation)
    print("| | Leitstand | Barman |\n|---|---|---|")
    for name, mine, other in (
        ("verify", ours.verify, barman.verify),
        ("restore", ours.restore, barman.restore),
    ):
        print(f"| {name} | {timed(mine):.1f} s | {timed(other):.1f} s |")
    print(
        "\n| damage | verification | restore | `barman verify-backup` | `barman restore` |"
        "\n|---|---|---|---|---|"
    )
    for each in planted(ours, barman):
        with damaged(*each.ours):
            found, refused = _said(ours.verify()), _said(ours.restore())
        with damaged(*each.theirs):
            verified, restored = _said(barman.verify()), _said(barman.restore())
        print(f"| {each.name} | {found} | {refused} | {verified} | {restored} |", flush=True)
    assert ours.verify()


def _said(passed: bool) -> str:
    return "passed" if passed else "found"
