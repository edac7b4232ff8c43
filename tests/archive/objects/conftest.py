"""A tree of files and a repository with one snapshot of it, made once and copied for each test."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from leitstand.archive import (
    DrillLedger,
    ListedSnapshot,
    ObjectArchive,
    ObjectBackup,
    ObjectLedger,
    ObjectRepository,
    back_up_objects,
    list_snapshots,
)
from leitstand.store.database import Database
from tests.archive.objects.quick_repository import PASSWORD, lay_out
from tests.conftest import TEMPLATE, Postgres, make_short_dir

STRANGE_NAME = b"\xff\xfe new\nline"


@dataclass(frozen=True)
class Scene:
    """A repository of which a test may do what it wants, the tree in it, and room beside."""

    archive: ObjectArchive
    tree: Path
    place: Path
    database: Database

    @property
    def directory(self) -> Path:
        """The repository's directory."""
        directory = self.archive.repository.directory
        assert directory is not None
        return directory

    def having(self, **changes: object) -> "Scene":
        """The same with other facts about the repository."""
        changed = replace(self.archive.repository, **changes)  # type: ignore[arg-type]
        return replace(self, archive=replace(self.archive, repository=changed))

    async def back_up(self, *directories: Path, allow_empty: bool = False) -> ObjectBackup:
        """A snapshot of the directories, or of the tree."""
        wanted = directories or (self.tree,)
        return await back_up_objects(wanted, self.archive, allow_empty=allow_empty)

    async def snapshots(self) -> list[ListedSnapshot]:
        """All of them."""
        return await list_snapshots(self.archive)

    def biggest_pack(self) -> Path:
        """A pack with data in it."""
        packs = (path for path in (self.directory / "data").rglob("*") if path.is_file())
        return max(packs, key=lambda path: path.stat().st_size)

    def damage(self) -> None:
        """Flip a byte in the middle of the biggest pack."""
        pack = self.biggest_pack()
        content = bytearray(pack.read_bytes())
        content[len(content) // 2] ^= 1
        pack.chmod(0o600)
        pack.write_bytes(content)


def plant(tree: Path) -> None:
    """Files of several sorts; as root with owners that are nobody here."""
    (tree / "closed").mkdir(parents=True, mode=0o700)
    (tree / "empty").mkdir()
    content = os.urandom(300_000)
    (tree / "one").write_bytes(content)
    (tree / "same").write_bytes(content)
    (tree / "closed" / "inner").write_text("inner")
    (tree / "link").symlink_to("one")
    Path(os.fsdecode(os.fsencode(tree) + b"/" + STRANGE_NAME)).write_text("strange")
    tree.chmod(0o750)
    if os.geteuid() == 0:
        for path in (tree / "closed", tree / "closed" / "inner"):
            os.chown(path, 1234, 4321)


def archive_in(place: Path, database: Database) -> ObjectArchive:
    """The repository below ``place``."""
    repository = ObjectRepository(str(place / "repository"), PASSWORD, place / "home", timeout=120)
    return ObjectArchive(repository, ObjectLedger(database), DrillLedger(database))


@pytest.fixture(scope="session")
def planted(postgres: Postgres) -> Iterator[Path]:
    """A place with the tree and the repository that has a snapshot of it; not to be changed."""
    place, name = make_short_dir(), "objects_planted"
    postgres.create_database(name, TEMPLATE)
    plant(place / "tree")
    lay_out(place / "repository")

    async def back_up() -> None:
        async with Database(postgres.conninfo(name)) as database:
            await back_up_objects([place / "tree"], archive_in(place, database))

    try:
        asyncio.run(back_up())
        yield place
    finally:
        postgres.drop_database(name)
        shutil.rmtree(place)


@pytest.fixture
def scene(planted: Path, short_dir: Path, database: Database) -> Scene:
    """A copy of the repository, which this test's database does not know yet."""
    shutil.copytree(planted / "repository", short_dir / "repository")
    return Scene(archive_in(short_dir, database), planted / "tree", short_dir, database)


@pytest.fixture
def bare(planted: Path, short_dir: Path, database: Database) -> Scene:
    """The tree, and no repository."""
    return Scene(archive_in(short_dir, database), planted / "tree", short_dir, database)
