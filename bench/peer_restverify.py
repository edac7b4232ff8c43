"""Leitstand and restverify on repositories of the same objects with the same fault.

Each has its own: ``restverify prove`` finds no file of a snapshot whose source was given by a
relative name, as Leitstand gives it, and ``restverify run`` restores one source of several.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench.server import BenchServer
from leitstand.archive import (
    CheckRequest,
    DrillLedger,
    ObjectArchive,
    ObjectDrill,
    ObjectLedger,
    ObjectRepository,
    back_up_objects,
    check_objects,
    drill_objects,
    list_snapshots,
    rotate_objects,
)
from leitstand.errors import LeitstandError
from leitstand.store.database import Database
from leitstand.store.schema import upgrade

PASSWORD = "bench"
FILES = 300


@dataclass
class Case:
    """A repository with two snapshots of a tree, and who looks at it."""

    place: Path
    archive: ObjectArchive
    restverify: Path

    @property
    def tree(self) -> Path:
        return self.place / "tree"

    @property
    def repository(self) -> Path:
        return self.place / "repository"

    @property
    def peers_repository(self) -> Path:
        """Restverify's, of snapshots that restic took."""
        return self.place / "other"

    @property
    def repositories(self) -> tuple[Path, Path]:
        """Where a fault is planted."""
        return self.repository, self.peers_repository

    async def prepare(self) -> None:
        """Take two snapshots, between which every file changes."""
        self.tree.mkdir(parents=True)
        self.restic(self.peers_repository, "init")
        for content in (b"old", b"new"):
            for number in range(FILES):
                (self.tree / f"{number}").write_bytes(content + os.urandom(20_000))
            await back_up_objects([self.tree], self.archive)
            self.restic(self.peers_repository, "backup", str(self.tree))

    def restic(self, repository: Path, *arguments: str) -> None:
        """Do something to a repository by restic itself."""
        argv = ["restic", "-q", "-r", str(repository), *arguments]
        subprocess.run(argv, check=True, env=self.environment, capture_output=True)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "RESTIC_PASSWORD": PASSWORD, "HOME": str(self.place)}

    def theirs(self, *arguments: str) -> str:
        """What restverify says; it is told the source, with which it compares."""
        argv = [str(self.restverify), *arguments, "-r", str(self.peers_repository)]
        if arguments[0] == "run":
            argv += ["-s", str(self.tree)]
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )
        return "passed" if done.returncode == 0 else f"found (exit {done.returncode})"


async def partial(case: Case) -> str:
    """One of two sources was not mounted."""
    unmounted = case.place / "unmounted"
    case.restic(case.peers_repository, "backup", str(case.tree), str(unmounted))
    made = await back_up_objects([case.tree, unmounted], case.archive)
    listed = {each.id: each for each in await list_snapshots(case.archive)}
    return f"found: backup and list say {listed[made.snapshot.id].state}; it counts for nothing"


async def vanished(case: Case) -> str:
    """The newest snapshot is deleted behind everybody's back."""
    newest = (await list_snapshots(case.archive))[-1]
    for repository in case.repositories:
        files = (repository / "snapshots").iterdir()
        max(files, key=lambda path: path.stat().st_mtime_ns).unlink()
    result = await check_objects(case.archive, CheckRequest())
    return "found: check names it" if newest.id in result.missing else "passed"


async def flipped(case: Case) -> str:
    """A byte in a pack of the newest snapshot's data."""
    for repository in case.repositories:
        packs = [path for path in (repository / "data").rglob("*") if path.is_file()]
        newest = max(path.stat().st_mtime_ns for path in packs) - 2 * 10**9
        late = [path for path in packs if path.stat().st_mtime_ns > newest]
        pack = max(late, key=lambda path: path.stat().st_size)
        pack.chmod(0o600)
        content = bytearray(pack.read_bytes())
        content[len(content) // 2] ^= 1
        pack.write_bytes(content)
    read = await check_objects(case.archive, CheckRequest(read_data=True))
    drill = await drill_objects(ObjectDrill(case.place / "drills"), case.archive)
    found = [what for what, ok in (("check", read.ok), ("drill", drill.success)) if not ok]
    return f"found: {' and '.join(found)}" if found else "passed"


async def future(case: Case) -> str:
    """A snapshot of old content, taken while the clock was wrong."""
    old = case.place / "old"
    shutil.copytree(case.tree, old)
    (old / "0").write_bytes(b"older")
    for repository in case.repositories:
        case.restic(repository, "backup", "--time=2040-01-01 00:00:00", "--tag=leitstand", str(old))
    try:
        await rotate_objects(case.archive, keep=1)
    except LeitstandError as error:
        return f"found: rotate refuses ({error.code})"
    return "passed"


FAULTS: tuple[Callable[[Case], Awaitable[str]], ...] = (partial, vanished, flipped, future)


async def _judged(conninfo: str, place: Path, restverify: Path, number: int) -> str:
    async with Database(conninfo) as database:
        repository = ObjectRepository(str(place / "repository"), PASSWORD, place / "home")
        archive = ObjectArchive(repository, ObjectLedger(database), DrillLedger(database))
        case = Case(place, archive, restverify)
        await case.prepare()
        sound = case.theirs("run"), case.theirs("prove")
        mine = await FAULTS[number](case)
    name = FAULTS[number].__name__
    assert sound == ("passed", "passed")
    return f"| {name} | {mine} | {case.theirs('run')} | {case.theirs('prove')} |"


def report(server: BenchServer, programs: Path) -> None:
    """Print the table."""
    print("| fault | Leitstand | `restverify run` | `restverify prove` |\n|---|---|---|---|")
    for number in range(len(FAULTS)):
        conninfo = server.create_database(f"objects{number}")
        upgrade(conninfo)
        place = server.directory / f"objects{number}"
        print(asyncio.run(_judged(conninfo, place, programs / "restverify", number)), flush=True)
