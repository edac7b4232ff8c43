"""Rotation removes what retention gives up, whole, and nothing else."""

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from leitstand.archive.postgres.backup_lock import BackupBusyError, backup_lock
from leitstand.archive.postgres.retention import Policy
from leitstand.archive.postgres.rotate import REMOVED_PREFIX, overdue, rotate
from leitstand.archive.postgres.stage import FULL_DIR, SIDECAR, Stage, StageRecord
from tests.archive_scene import Archive

IDS = ("20260101T000000Z", "20260102T000000Z", "20260103T000000Z")


def adopt(archive: Archive, name: str) -> Path:
    """A generation of its own right called ``name``: the full backup, renamed in its record."""
    path = archive.directory / name
    shutil.copytree(archive.newest.path / FULL_DIR, path / FULL_DIR)
    shutil.copy(archive.newest.path / "checks.jsonl", path)
    record = Stage.read(path / FULL_DIR).record
    assert record is not None
    renamed = StageRecord(**{**vars(record), "id": name, "generation": name})
    (path / FULL_DIR / SIDECAR).write_text(renamed.to_json())
    return path


@pytest.fixture
def several(archive: Archive) -> Archive:
    """Three old generations and the newest."""
    for name in IDS:
        adopt(archive, name)
    return archive


def names(archive: Archive) -> list[str]:
    return [generation.id for generation in archive.generations]


def test_the_newest_stay(several: Archive) -> None:
    newest = several.newest.id
    with capture_logs() as logs:
        done = rotate(several.directory, Policy(keep=2))
    assert names(several) == [IDS[2], newest]
    assert done.removed == IDS[:2]
    assert done.freed > 0
    assert not done.failures
    assert [log["generation"] for log in logs if log["event"] == "generation removed"] == [*IDS[:2]]
    assert not list(several.directory.glob(f"{REMOVED_PREFIX}*"))


def test_a_dry_run_touches_nothing(several: Archive) -> None:
    before = sorted(several.directory.rglob("*"))
    done = rotate(several.directory, Policy(keep=1), dry_run=True)
    assert [decision.id for decision in done.plan.removed] == [*IDS]
    assert not done.removed
    assert sorted(several.directory.rglob("*")) == before


def test_a_negative_count_is_zero_and_the_newest_proven_stays(several: Archive) -> None:
    newest = several.newest.id
    done = rotate(several.directory, Policy(keep=-5))
    assert names(several) == [newest]
    (kept,) = done.plan.kept
    assert kept.reasons == (
        "the newest that verified, which always stays"
        " (the number to keep is -5, which counts as 0)",
    )


def test_damaged_generations_do_not_count(several: Archive) -> None:
    """Case 28."""
    newest = several.newest.id
    os.truncate(several.newest.path / "full" / "base.tar.gz", 10)
    rotate(several.directory, Policy(keep=1))
    assert names(several) == [IDS[2], newest]


def test_foreign_names_stay(several: Archive) -> None:
    foreign = several.directory / "20260101T000000Z-copy"
    foreign.mkdir()
    rotate(several.directory, Policy(keep=1))
    assert foreign.is_dir()


def test_an_interrupted_deletion_goes_on(several: Archive) -> None:
    """Case 11: idempotent."""
    left = several.directory / IDS[0]
    left.rename(several.directory / f"{REMOVED_PREFIX}{IDS[0]}")
    rotate(several.directory, Policy(keep=9))
    assert not list(several.directory.glob(f"{REMOVED_PREFIX}*"))
    assert names(several)[0] == IDS[1]


def test_what_cannot_be_deleted_does_not_keep_the_others(several: Archive) -> None:
    """Case 11: the rename onto an existing file fails, for root as well."""
    (several.directory / f"{REMOVED_PREFIX}{IDS[0]}").write_text("in the way")
    newest = several.newest.id
    for _ in range(2):
        done = rotate(several.directory, Policy(keep=1))
        assert {failure.generation for failure in done.failures} == {IDS[0]}
        assert names(several) == [IDS[0], newest]


def test_not_while_a_backup_is_taken(several: Archive) -> None:
    with backup_lock(several.directory, "full backup"), pytest.raises(BackupBusyError):
        rotate(several.directory, Policy(keep=1))


def test_no_directory_is_nothing_to_do(tmp_path: Path) -> None:
    assert rotate(tmp_path / "nowhere", Policy()).removed == ()


def test_a_rotation_that_does_not_happen_is_overdue(several: Archive) -> None:
    """Case 42: what should have gone is seen without any trace of the rotations themselves."""
    generations, policy = several.generations, Policy(keep=1)
    taken = generations[-1].started_at
    assert taken is not None
    assert [g.id for g in overdue(generations, policy, taken)] == [*IDS]
    assert overdue(generations, policy, taken - timedelta(seconds=1)) == ()
    assert overdue(generations, Policy(keep=4), taken) == ()
    rotate(several.directory, policy)
    assert overdue(several.generations, policy, taken) == ()
