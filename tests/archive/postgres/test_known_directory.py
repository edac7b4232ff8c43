"""A backup directory that is not there any more is no new one; any other is right."""

import shutil
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from leitstand.archive.postgres.backup import take_full
from leitstand.archive.postgres.backup_lock import BackupStorageError
from leitstand.archive.postgres.directory_ledger import DirectoryLedger
from leitstand.archive.postgres.directory_mark import (
    MARK,
    DirectoryAbsentError,
    DirectoryChangedError,
    marked,
)
from leitstand.archive.postgres.known_directory import (
    remember_directory,
    require_known_directory,
)
from leitstand.store.database import Database
from tests.archive_scene import Archive

GENERATION = "20261202T063750Z"


@pytest.fixture
def ledger(database: Database) -> DirectoryLedger:
    return DirectoryLedger(database)


@pytest.fixture
async def used(ledger: DirectoryLedger, tmp_path: Path) -> Path:
    """A directory into which a generation was taken."""
    directory = tmp_path / "backups"
    (directory / GENERATION).mkdir(parents=True)
    await remember_directory(ledger, directory, GENERATION)
    return directory


async def test_it_is_known_again(ledger: DirectoryLedger, used: Path) -> None:
    """Also after its generations were removed by hand, all but what is hidden."""
    await require_known_directory(ledger, used)
    (used / GENERATION).rmdir()
    await require_known_directory(ledger, used)


async def test_any_directory_is_right_where_nothing_was(
    ledger: DirectoryLedger, used: Path, tmp_path: Path
) -> None:
    """The first start, and another ``backup.postgres.directory``."""
    (tmp_path / "other" / "20261201T000000Z").mkdir(parents=True)
    for directory in (tmp_path / "other", tmp_path / "not" / "yet"):
        await require_known_directory(ledger, directory)
    used.rename(tmp_path / "moved")
    await require_known_directory(ledger, tmp_path / "moved")


async def test_an_unmounted_disk_is_no_new_directory(ledger: DirectoryLedger, used: Path) -> None:
    """Case 44, of the place that backups go to: empty, missing, or with what every disk has."""
    used.rename(used.with_name("disk"))
    with pytest.raises(DirectoryAbsentError, match=GENERATION) as refused:
        await require_known_directory(ledger, used)
    assert "--accept-directory" in str(refused.value.remedy)
    (used / "lost+found").mkdir(parents=True)
    with pytest.raises(DirectoryAbsentError):
        await require_known_directory(ledger, used)
    shutil.rmtree(used)
    used.with_name("disk").rename(used)
    await require_known_directory(ledger, used)


async def test_another_disk_is_told_and_may_take_turns(ledger: DirectoryLedger, used: Path) -> None:
    first, second = used.with_name("first"), "20261203T000000Z"
    used.rename(first)
    (used / second).mkdir(parents=True)
    with pytest.raises(DirectoryChangedError, match=GENERATION):
        await require_known_directory(ledger, used)
    await remember_directory(ledger, used, second)
    await require_known_directory(ledger, used)
    used.rename(used.with_name("second"))
    first.rename(used)
    await require_known_directory(ledger, used)


async def test_a_copy_without_the_mark_is_known_by_its_last_generation(
    ledger: DirectoryLedger, used: Path
) -> None:
    """As after a disaster, when generations come back from elsewhere."""
    (used / MARK).unlink()
    await require_known_directory(ledger, used)
    await remember_directory(ledger, used, GENERATION)
    assert (used / MARK).exists()


async def test_a_mark_that_cannot_be_read_is_no_verdict(
    ledger: DirectoryLedger, used: Path
) -> None:
    (used / MARK).unlink()
    (used / MARK).symlink_to(used / "elsewhere")
    with pytest.raises(BackupStorageError, match="it is a link"):
        await require_known_directory(ledger, used)


async def test_a_backup_is_worth_more_than_the_look(tmp_path: Path) -> None:
    """Where the control database does not answer, or cannot even be opened."""
    with capture_logs() as logs:
        async with Database("host=/nowhere", deadline=0.2) as nobody:
            for ledger in (None, DirectoryLedger(nobody)):
                await require_known_directory(ledger, tmp_path)
                await remember_directory(ledger, tmp_path, GENERATION)
    assert [entry["log_level"] for entry in logs] == ["warning", "warning"]


async def test_a_database_without_the_table(ledger: DirectoryLedger, database: Database) -> None:
    """The first backup from the command line, or that before an update."""
    async with database.connection() as connection:
        await connection.execute("DROP TABLE backup_directories")
    await require_known_directory(ledger, Path("/nowhere"))
    await remember_directory(ledger, Path("/nowhere"), GENERATION)


def test_what_a_backup_leaves_is_never_in_its_way(archive: Archive) -> None:
    """A mark in the directory is nothing to those who list, rotate and remove there."""
    mark, before = marked(archive.directory), archive.generations
    take_full(archive.repository)
    assert archive.generations[:-1] == before
    assert marked(archive.directory) == mark
