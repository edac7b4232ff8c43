"""Opens the repository, and makes one only where there never was any.

An unmounted disk looks like a place for a new repository. So what was seen at a location is
remembered in the control database: where something was, nothing is made, and where something else
is now, nothing is written. Nor is anything made after any answer but a clear "absent".
"""

import os
from dataclasses import dataclass
from pathlib import Path

import structlog

from leitstand.archive.objects.object_ledger import ObjectLedger, Record
from leitstand.archive.objects.object_repository import ObjectRepository
from leitstand.archive.objects.restic import SHORT, Restic
from leitstand.archive.objects.restic_errors import (
    RepositoryAbsentError,
    RepositoryChangedError,
    ResticError,
)
from leitstand.archive.objects.snapshot import Snapshot, snapshots_in
from leitstand.archive.objects.stale_locks import remove_own_locks

log = structlog.get_logger(__name__)

CODES_SINCE = (0, 17)
"""The version from which on an exit code says that there is no repository."""


@dataclass(frozen=True)
class OpenRepository:
    """A repository that is the right one; ``id`` is its own, ``created`` says whether just now."""

    restic: Restic
    id: str
    created: bool = False

    @property
    def directory(self) -> Path | None:
        """See ObjectRepository."""
        return self.restic.repository.directory


async def open_repository(
    repository: ObjectRepository, ledger: ObjectLedger, *, create: bool = False
) -> OpenRepository:
    """The repository, known to be the one that was here before; with ``create`` made if need be.

    Locks that our own killed calls have left in it are removed. Raises RepositoryAbsentError,
    RepositoryChangedError, what ``restic_errors.failure`` makes, ResticMissingError.
    """
    restic = Restic(repository)
    version = await restic.version()
    remembered = await ledger.repository_at(repository.shown)
    created = not await _is_there(restic, version)
    if created:
        _refuse_to_make(repository, remembered, create=create)
        await _make(restic)
    found = await _id_of(restic)
    if remembered is None:
        await ledger.remember(repository.shown, found, await _own_snapshots(restic))
        log.info("repository of objects remembered", location=repository.shown, repository=found)
    elif remembered != found:
        raise RepositoryChangedError(
            f"{repository.shown} holds another repository ({found[:10]}) than"
            f" the one that was there before ({remembered[:10]})",
            remedy="Look at the mounts. If the new one is right:"
            " leitstand backup objects init --forget-former",
        )
    await remove_own_locks(restic)
    return OpenRepository(restic, found, created)


async def _is_there(restic: Restic, version: tuple[int, ...]) -> bool:
    directory = restic.repository.directory
    if directory is not None:
        return _is_in(directory, restic.repository)
    answer = await restic.call("cat", "config", "--no-lock", timeout=SHORT)
    if answer.exit_code == 0:
        return True
    error = restic.failure("cat config", answer)
    if version >= CODES_SINCE and isinstance(error, RepositoryAbsentError):
        return False
    raise error


def _is_in(directory: Path, repository: ObjectRepository) -> bool:
    """Whether a repository is in the directory; raises ResticError for anything unclear."""
    try:
        names = set(os.listdir(directory))
    except FileNotFoundError:
        _refuse_parent(directory, repository)
        return False
    except OSError as error:
        raise ResticError(f"{directory} cannot be read: {error.strerror}") from error
    if names and "config" not in names:
        raise RepositoryChangedError(
            f"{directory} is not empty, and no repository is in it",
            remedy="Choose an empty or new directory; if it was a repository, its file `config`"
            " is lost and must be brought back.",
        )
    return bool(names)


def _refuse_parent(directory: Path, repository: ObjectRepository) -> None:
    """A missing parent directory is a disk that is not mounted, unless it is ours."""
    if not directory.parent.is_dir() and repository.home.absolute() not in directory.parents:
        raise RepositoryAbsentError(
            f"the directory {directory.parent} is missing, in which the repository should be",
            remedy="Mount the disk, or make the directory.",
        )


def _refuse_to_make(repository: ObjectRepository, remembered: str | None, *, create: bool) -> None:
    if remembered is not None:
        raise RepositoryAbsentError(
            f"the repository {remembered[:10]} that was at {repository.shown} is not there",
            remedy="Mount the disk that it is on. To begin anew without it:"
            " leitstand backup objects init --forget-former",
        )
    if not create:
        raise RepositoryAbsentError(
            f"there is no repository at {repository.shown} yet",
            remedy="The first backup makes it: leitstand backup objects backup DIR",
        )


async def _make(restic: Restic) -> None:
    directory = restic.repository.directory
    if directory is not None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    await restic.succeed("init", timeout=SHORT)
    log.info("repository of objects made", location=restic.repository.shown)


async def _id_of(restic: Restic) -> str:
    return str((await restic.look_up("cat", "config"))["id"])


async def _own_snapshots(restic: Restic) -> list[Record]:
    """What Leitstand took before it had this control database, such as before a disaster."""
    return [_as_record(each) for each in await snapshots_in(restic) if each.is_ours]


def _as_record(snapshot: Snapshot) -> Record:
    return Record(snapshot.id, snapshot.taken_at, complete=not snapshot.is_partial)
