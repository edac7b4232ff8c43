"""By what a backup directory is known again: where a disk is not mounted, its place has no mark.

Such a place looks like a new directory. A full backup that is taken into it succeeds, fills another
disk, and hides that all others are out of reach.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.postgres.backup_lock import BackupStorageError, own_like
from leitstand.archive.postgres.durable import sync_path, write_durably
from leitstand.archive.postgres.layout import id_names
from leitstand.archive.postgres.regular_file import (
    ArchiveMissingError,
    ArchiveUnreadableError,
    read_small,
)
from leitstand.errors import ConflictError, NotFoundError

MARK = ".leitstand-directory"
"""The file with the mark; hidden, so that who removes all generations by hand leaves it there."""

_LIMIT = 100
_REMEDY = (
    "Mount the disk that they are on. To go on in the directory as it is now:"
    " leitstand backup postgres full --accept-directory"
)


class DirectoryAbsentError(NotFoundError):
    """Backups were taken into a directory that is empty or missing now."""

    code = "BACKUP_DIRECTORY_ABSENT"


class DirectoryChangedError(ConflictError):
    """What is in the directory are not the backups that were taken into it."""

    code = "BACKUP_DIRECTORY_CHANGED"


@dataclass(frozen=True)
class KnownMark:
    """The mark of a directory into which backups were taken, the last of them in ``generation``."""

    mark: str
    generation: str


def require_known(directory: Path, known: Sequence[KnownMark]) -> None:
    """Raise if ``directory`` is none of those that were at its path, which are ``known``.

    A copy without the mark counts if it has the last generation. Where nothing is known, any
    directory is right. ``known`` has the newest first. Raises DirectoryAbsentError,
    DirectoryChangedError, BackupStorageError.
    """
    if not known or mark_of(directory) in {each.mark for each in known}:
        return
    last, there = known[0].generation, _generations(directory)
    if last in there:
        return
    if there:
        raise DirectoryChangedError(
            f"{directory} holds other backups than those that were taken into it before,"
            f" and not their last generation {last}",
            remedy=_REMEDY,
        )
    raise DirectoryAbsentError(
        f"no backups are in {directory}, into which the generation {last} was taken last",
        remedy=_REMEDY,
    )


def mark_of(directory: Path) -> str | None:
    """The mark of ``directory``; None where there is none. Raises BackupStorageError."""
    try:
        return read_small(directory / MARK, _LIMIT).decode(errors="replace").strip()
    except ArchiveMissingError:
        return None
    except ArchiveUnreadableError as error:
        raise BackupStorageError(
            f"the backup directory {directory} cannot be known again: {MARK}: {error.message}",
            remedy="Look at that file; where you remove it, the next backup makes another.",
        ) from error


def marked(directory: Path) -> str:
    """The mark of ``directory``, which gets one if it has none. Raises BackupStorageError.

    Of two at once one loses its mark to the other's; that both are known then does no harm.
    """
    found = mark_of(directory)
    return _mark(directory) if found is None else found


def _mark(directory: Path) -> str:
    mark = secrets.token_hex(16)
    fresh = directory / f"{MARK}-{mark}"
    try:
        write_durably(fresh, f"{mark}\n")
        own_like(fresh, directory)
        fresh.rename(directory / MARK)
        sync_path(directory)
    except OSError as error:
        raise BackupStorageError.of(directory, error) from error
    return mark


def _generations(directory: Path) -> list[str]:
    try:
        return id_names(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BackupStorageError.of(directory, error) from error
