"""What can go wrong with restic, and which of it a call's end means.

From 0.17 on the exit code tells (10 no repository, 11 locked, 12 wrong password); before, all are 1
and only restic's words, which are English everywhere, tell them apart.
"""

from pathlib import Path

from leitstand.archive.hindrance import UnwritableError, obstacle_said, unwritable
from leitstand.errors import (
    ConflictError,
    FailureClass,
    LeitstandError,
    NotFoundError,
    UnavailableError,
    UsageError,
)
from leitstand.masking import mask_url

DETAIL_LIMIT = 2000

_ABSENT, _LOCKED, _PASSWORD = 10, 11, 12


class ResticMissingError(LeitstandError):
    """The program restic is not there, or too old."""

    code = "RESTIC_MISSING"


class ResticError(LeitstandError):
    """Restic failed for a reason that has no code of its own; its last words are the detail."""

    code = "RESTIC_FAILED"


class ResticTimeoutError(UnavailableError):
    """Restic did not end in time and was stopped."""

    code = "RESTIC_TIMEOUT"


class PasswordMissingError(UsageError):
    """No password is configured, and a repository without one does not exist."""

    code = "OBJECT_PASSWORD_MISSING"


class PasswordWrongError(LeitstandError):
    """The password opens none of the repository's keys."""

    code = "OBJECT_PASSWORD_WRONG"


class RepositoryAbsentError(NotFoundError):
    """There is no repository at the location."""

    code = "OBJECT_REPOSITORY_ABSENT"


class RepositoryChangedError(ConflictError):
    """What is at the location is not the repository that was there before."""

    code = "OBJECT_REPOSITORY_CHANGED"


class RepositoryLockedError(ConflictError):
    """Another restic works on the repository, or one that was killed has left its lock."""

    code = "OBJECT_REPOSITORY_LOCKED"
    failure_class = FailureClass.TRANSIENT


class RepositoryUnwritableError(UnwritableError):
    """The repository takes no more: no lock, no data. What is in it can still be restored."""

    code = "OBJECT_REPOSITORY_UNWRITABLE"


def failure(what: str, location: str, exit_code: int, said: str) -> LeitstandError:
    """The error for a call that ended with ``exit_code``; ``said`` is its standard error."""
    detail = mask_url(said.strip()[-DETAIL_LIMIT:]) or None
    if exit_code == _LOCKED or "repository is already locked" in said:
        return RepositoryLockedError(
            f"the repository {location} is locked",
            detail=detail,
            remedy="Wait until the other one has ended. If it was killed on another machine,"
            " run `restic unlock` yourself.",
        )
    if exit_code == _PASSWORD or "wrong password or no key found" in said:
        return PasswordWrongError(
            f"the password does not open the repository {location}",
            detail=detail,
            remedy="Correct backup.objects.password_file.",
        )
    if exit_code == _ABSENT:
        return RepositoryAbsentError(
            f"there is no repository at {location}",
            detail=detail,
            remedy="Mount the disk that it is on, or correct backup.objects.repository.",
        )
    obstacle = _of_repository(said)
    if obstacle is not None:
        return RepositoryUnwritableError(
            f"the repository {location} cannot be written: {obstacle}",
            detail=detail,
            remedy=unwritable(Path(location), obstacle).remedy,
        )
    return ResticError(
        f"restic {what} failed with exit code {exit_code} on {location}",
        detail=detail,
        remedy="Restic's last words say why.",
    )


def _of_repository(said: str) -> str | None:
    """What keeps a lock from being made, the first thing that each command does, or data from being
    saved; followed by words like "unable to create lock" and "unable to save snapshot".
    """
    if "unable to create lock" in said or "unable to save" in said:
        return obstacle_said(said)
    return None
