"""Verification, rotation and restore at the same time, and what a verification leaves behind."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from leitstand.archive import (
    NEWEST,
    ArchiveSettings,
    DrillSettings,
    Policy,
    RestoreRequest,
    drill_database,
    restore_generation,
    verify_chosen,
)
from leitstand.archive.drills.drill_room import PREFIX
from leitstand.archive.postgres.backup import take_full
from leitstand.archive.postgres.backup_lock import BackupBusyError, BackupStorageError
from leitstand.archive.postgres.checks import CHECKS
from leitstand.archive.postgres.generation_lock import kept_from_readers
from leitstand.archive.postgres.materialise import GenerationDamagedError
from leitstand.archive.postgres.rotate import Rotation, rotate
from leitstand.archive.postgres.stage import WAL
from leitstand.archive.postgres.stage_check import SCRATCH_PREFIX
from leitstand.errors import NotFoundError
from leitstand.store.account import server_account
from tests.archive_scene import Archive

VERIFIER = """
import sys
from pathlib import Path
from leitstand.archive.postgres import verify
from leitstand.store.binaries import embedded_binaries

verify.REPORT_INTERVAL = 0.0

def report(progress):
    if progress.file == "pg_wal.tar.gz":
        print(progress.file, flush=True)
        sys.stdin.read()

verify.verify_generation(Path(sys.argv[1]), embedded_binaries(), report, scratch=Path(sys.argv[2]))
"""


@pytest.fixture
def settings(archive: Archive, short_dir: Path) -> ArchiveSettings:
    return ArchiveSettings(
        directory=archive.directory,
        restore_log=short_dir / "restore-log.jsonl",
        level=1,
        policy=Policy(keep=1),
        drill=DrillSettings(short_dir / "drills"),
    )


@pytest.fixture
def old(archive: Archive) -> str:
    """The id of a generation that the next rotation removes; no drill of it takes long."""
    first = archive.newest
    (first.path / "full" / WAL).unlink()
    take_full(archive.repository)
    return first.id


def ids(archive: Archive) -> list[str]:
    return [generation.id for generation in archive.generations]


def verify(settings: ArchiveSettings, name: str, meanwhile: Callable[[], None]) -> None:
    (verdict,) = verify_chosen(settings, name, lambda _: meanwhile())
    assert not verdict.ok


def drill(settings: ArchiveSettings, name: str, meanwhile: Callable[[], None]) -> None:
    named = None if name == NEWEST else name
    assert not drill_database(settings, named, lambda _: meanwhile()).success


def restore(settings: ArchiveSettings, name: str, meanwhile: Callable[[], None]) -> None:
    request = RestoreRequest(name, settings.directory.with_name("restored"))
    with suppress(GenerationDamagedError):
        restore_generation(request, settings, server_account(), lambda _: meanwhile())


@pytest.mark.parametrize("read", [verify, drill, restore])
def test_what_is_read_is_removed_by_the_next_rotation(
    archive: Archive,
    settings: ArchiveSettings,
    old: str,
    read: Callable[[ArchiveSettings, str, Callable[[], None]], None],
) -> None:
    done: list[Rotation] = []

    def meanwhile() -> None:
        if not done:
            done.append(rotate(archive.directory, Policy(keep=1)))

    read(settings, old, meanwhile)
    assert (done[0].postponed, done[0].removed, done[0].failures) == ((old,), (), ())
    assert old in ids(archive)
    assert rotate(archive.directory, Policy(keep=1)).removed == (old,)


def test_two_rotations_exclude_each_other(archive: Archive, old: str) -> None:
    def second(_: str) -> None:
        with pytest.raises(BackupBusyError, match="rotation, process"):
            rotate(archive.directory, Policy(keep=1))
        with pytest.raises(BackupBusyError):
            take_full(archive.repository)

    assert rotate(archive.directory, Policy(keep=1), report=second).removed == (old,)


def test_nobody_begins_to_read_what_is_being_removed(
    archive: Archive, settings: ArchiveSettings, old: str
) -> None:
    with kept_from_readers(archive.directory / old):
        for read in (verify, drill, restore):
            with pytest.raises(NotFoundError, match=f"{old}.*: it is being removed"):
                read(settings, old, lambda: None)
    (line,) = settings.restore_log.read_text().splitlines()
    assert "aborted: there is no generation" in line


def test_what_is_gone_before_its_turn_is_left_out(
    archive: Archive, settings: ArchiveSettings, old: str
) -> None:
    _, newest = ids(archive)
    verdicts = verify_chosen(
        settings, "all", lambda _: shutil.rmtree(archive.directory / newest, ignore_errors=True)
    )
    assert [verdict.generation for verdict in verdicts] == [old]


def test_what_somebody_removes_by_hand_meanwhile(
    archive: Archive, settings: ArchiveSettings
) -> None:
    with pytest.raises(NotFoundError, match="there is no generation"):
        verify_chosen(
            settings, NEWEST, lambda _: shutil.rmtree(archive.directory, ignore_errors=True)
        )


def test_an_outcome_that_cannot_be_noted(archive: Archive, settings: ArchiveSettings) -> None:
    """As on a file system that is mounted read-only; what was found out is true all the same."""
    checks = archive.newest.path / CHECKS
    checks.unlink()
    checks.mkdir()
    (verdict,) = verify_chosen(settings, NEWEST)
    assert verdict.ok
    assert [(note.file, note.problem[:32]) for note in verdict.notes] == [
        (CHECKS, "the outcome could not be noted: ")
    ]


@pytest.mark.parametrize("name", ["20200101T000000Z", "20269912T000000Z", "yesterday", "../x", ""])
def test_an_unknown_generation_is_told_in_the_same_words(
    archive: Archive, settings: ArchiveSettings, name: str
) -> None:
    said = set()
    for read in (verify, drill, restore):
        with pytest.raises(NotFoundError) as caught:
            read(settings, name, lambda: None)
        said.add((caught.value.message, caught.value.remedy))
    ((message, _),) = said
    assert message == f"there is no generation {name!r} in {archive.directory}"


def test_the_newest_is_the_newest_that_holds_a_backup(
    archive: Archive, settings: ArchiveSettings
) -> None:
    """Told by what is wrong with it, which is quicker than to restore it."""
    newest = archive.newest.path
    (newest / "full" / WAL).unlink()
    (archive.directory / "29990101T000000Z").mkdir()
    (verdict,) = verify_chosen(settings, NEWEST)
    assert verdict.generation == newest.name
    assert drill_database(settings).source == newest.name
    request = RestoreRequest(NEWEST, archive.directory.with_name("restored"))
    with pytest.raises(GenerationDamagedError):
        restore_generation(request, settings, server_account())


def test_what_a_killed_verification_left_goes_with_the_next(
    archive: Archive, settings: ArchiveSettings
) -> None:
    scratch = settings.drill.directory
    scratch.mkdir()
    argv = [sys.executable, "-c", VERIFIER, str(archive.newest.path), str(scratch)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, **pipes) as verifier:  # type: ignore[call-overload]
        assert verifier.stdout.readline() == b"pg_wal.tar.gz\n"
        verifier.kill()
    (left,) = scratch.iterdir()
    assert left.name.startswith(SCRATCH_PREFIX)
    room = scratch / f"{PREFIX}of-a-killed-drill"
    room.mkdir()
    (verdict,) = verify_chosen(settings, NEWEST)
    assert verdict.ok
    assert list(scratch.iterdir()) == []


def test_a_directory_that_cannot_be_locked(archive: Archive) -> None:
    (archive.directory / ".lock").unlink()
    (archive.directory / ".lock").mkdir()
    with pytest.raises(BackupStorageError, match="cannot be used: Is a directory"):
        rotate(archive.directory, Policy(keep=1))
    with pytest.raises(BackupStorageError):
        take_full(archive.repository)


def test_a_backup_directory_that_is_none(settings: ArchiveSettings) -> None:
    """As one that may not be read: an error in words, for everybody, and a line about a restore."""
    settings.directory.rename(settings.directory.with_name("away"))
    settings.directory.write_text("a file")
    for read in (verify, drill, restore):
        with pytest.raises(BackupStorageError, match="cannot be used: Not a directory"):
            read(settings, NEWEST, lambda: None)
    (line,) = settings.restore_log.read_text().splitlines()
    assert "failed: the backup directory" in line
