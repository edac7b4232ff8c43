"""Which repository is the right one, and when one is made."""

import shutil

import pytest

from leitstand.archive import open_repository
from leitstand.archive.objects.restic_errors import (
    RepositoryAbsentError,
    RepositoryChangedError,
    failure,
)
from leitstand.errors import FailureClass
from tests.archive.objects.conftest import Scene


async def test_making_one_is_done_once(bare: Scene) -> None:
    archive = bare.archive
    with pytest.raises(RepositoryAbsentError):
        await open_repository(archive.repository, archive.ledger)
    assert await bare.snapshots() == []
    first = await open_repository(archive.repository, archive.ledger, create=True)
    again = await open_repository(archive.repository, archive.ledger, create=True)
    assert (first.created, again.created) == (True, False)
    assert first.id == again.id
    assert bare.directory.stat().st_mode & 0o077 == 0


async def test_an_unmounted_disk_gets_no_fresh_repository(scene: Scene) -> None:
    """Neither in its empty mount point nor where that is gone."""
    await scene.snapshots()
    scene.directory.rename(scene.place / "away")
    for _ in ("gone", "empty"):
        with pytest.raises(RepositoryAbsentError, match="is not there"):
            await scene.back_up()
        with pytest.raises(RepositoryAbsentError, match="is not there"):
            await scene.snapshots()
        scene.directory.mkdir(exist_ok=True)
    assert list(scene.directory.iterdir()) == []


async def test_the_parent_of_a_repository_must_be_there(bare: Scene) -> None:
    elsewhere = bare.having(location=str(bare.place / "mnt" / "disk" / "repository"))
    with pytest.raises(RepositoryAbsentError, match="is missing"):
        await elsewhere.back_up()
    home = bare.archive.repository.home
    inside = bare.having(location=str(home / "backups" / "objects"))
    assert (await inside.back_up()).created


async def test_a_password_in_the_location_is_kept_nowhere(scene: Scene) -> None:
    """A changed one is no other repository, either."""
    program = scene.place / "remote"
    program.write_text(f'#!/bin/sh\nRESTIC_REPOSITORY={scene.directory} exec restic "$@"\n')
    program.chmod(0o755)
    for password in ("geheim", "changed"):
        location = f"rest:https://bob:{password}@host/repository"
        remote = scene.having(location=location, program=str(program))
        assert len(await remote.snapshots()) == 1
    async with scene.database.connection() as connection:
        found = await connection.execute("SELECT location FROM object_repositories")
        rows = await found.fetchall()
    assert [row["location"] for row in rows] == ["rest:https://bob:***@host/repository"]


async def test_another_repository_is_not_written_to(scene: Scene, bare: Scene) -> None:
    await scene.snapshots()
    shutil.rmtree(scene.directory)
    other = bare.having(location=str(bare.place / "other"))
    await other.back_up()
    other.directory.rename(scene.directory)
    with pytest.raises(RepositoryChangedError, match="another repository"):
        await scene.back_up()
    await scene.archive.ledger.forget(scene.archive.repository.shown)
    (found,) = await scene.snapshots()
    assert found.counts  # what Leitstand took without this database is known by its tag


async def test_a_directory_with_other_things_is_left_alone(bare: Scene) -> None:
    bare.directory.mkdir()
    (bare.directory / "precious").touch()
    with pytest.raises(RepositoryChangedError, match="not empty"):
        await bare.back_up()
    assert [path.name for path in bare.directory.iterdir()] == ["precious"]


@pytest.mark.parametrize(
    ("exit_code", "said", "code"),
    [
        (1, "unable to create lock in backend: repository is already locked by PID 7", "LOCKED"),
        (11, "", "LOCKED"),
        (12, "", "OBJECT_PASSWORD_WRONG"),
        (1, "Fatal: wrong password or no key found", "OBJECT_PASSWORD_WRONG"),
        (10, "", "ABSENT"),
        (1, "Fatal: unable to open config file: connection refused", "RESTIC_FAILED"),
        (1, "to rest:https://me:hidden@host/ said no", "RESTIC_FAILED"),
    ],
)
def test_what_an_exit_code_means(exit_code: int, said: str, code: str) -> None:
    error = failure("check", "/srv/r", exit_code, said)
    assert error.code.endswith(code)
    assert (error.failure_class is FailureClass.TRANSIENT) == (code == "LOCKED")
    assert "hidden" not in str(error.detail)
