"""Decides whether a directory may be restored into, before anything is run or written."""

import os
import pwd
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from leitstand.errors import ConflictError


class TargetRefusedError(ConflictError):
    """Nothing will be restored there; the target was not touched."""

    code = "TARGET_REFUSED"


def checked_target(target: Path, *, force: bool, protected: Iterable[Path]) -> Path:
    """``target`` with all links of its parents resolved; raises TargetRefusedError.

    ``protected`` are directories that must survive (the backups, the working directory, data
    directories of running servers): neither they, nor what they are in, nor what is in the first
    may be replaced. With ``force`` a non-empty target is allowed, nothing else.
    """
    if not target.name or target.name == "..":
        raise _refusal(target, "it is the root of the file system, or no name of a directory")
    parent = _parent(target)
    place = parent / target.name
    status = _status(place)
    if status is not None and stat.S_ISLNK(status.st_mode):
        raise _refusal(target, "it is a symbolic link", "Name the directory that it leads to.")
    if status is not None and not stat.S_ISDIR(status.st_mode):
        raise _refusal(target, "it exists and is no directory")
    _refuse_protected(place, protected)
    if status is not None:
        _refuse_mounts(place)
        _refuse_content(place, force=force)
    _refuse_unwritable(parent)
    return place


def _parent(target: Path) -> Path:
    try:
        parent = target.absolute().parent.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _refusal(
            target,
            f"its parent directory cannot be used: {getattr(error, 'strerror', None) or error}",
            "Make the parent directory first, so that a mistyped path stays without effect.",
        ) from error
    if not parent.is_dir():
        raise _refusal(target, "its parent is no directory")
    return parent


def _status(place: Path) -> os.stat_result | None:
    try:
        return place.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(place, f"it cannot be looked at: {error.strerror}") from error


def _refuse_protected(place: Path, protected: Iterable[Path]) -> None:
    if len(place.parts) <= 2 and place.is_dir():
        raise _refusal(place, "it is a directory of the system")
    for directory in protected:
        resolved = directory.resolve()
        if resolved == place or place in resolved.parents:
            raise _refusal(place, f"{directory} is in it and must survive")
        if resolved in place.parents and resolved != Path.cwd().resolve():
            raise _refusal(place, f"it is in {directory}, which is not for restored data")
    for home in _homes():
        if home == place or place in home.parents:
            raise _refusal(place, f"{home} is somebody's home")


def _homes() -> set[Path]:
    homes = {Path.home().resolve()} | {Path(entry.pw_dir).resolve() for entry in pwd.getpwall()}
    return {home for home in homes if home.is_dir()}


def _refuse_mounts(place: Path) -> None:
    for mount in _mount_points():
        if mount == place or place in mount.parents:
            raise _refusal(
                place,
                f"{mount} is a mount point, which cannot be replaced (EBUSY)",
                "Restore into a directory below the mount point.",
            )


def _mount_points() -> list[Path]:
    """All mount points, also those of bind mounts; the fifth field of proc_pid_mountinfo(5)."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return []
    fields = (line.split(b" ")[4] for line in lines)
    octal = (re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), field) for field in fields)
    return [Path(os.fsdecode(name)) for name in octal]


def _refuse_content(place: Path, *, force: bool) -> None:
    try:
        empty = not any(place.iterdir())
    except OSError as error:
        raise _refusal(place, f"it cannot be listed: {error.strerror}") from error
    if not empty and not force:
        raise _refusal(place, "it is not empty", "Choose a new directory, or use --force.")


def _refuse_unwritable(parent: Path) -> None:
    if not os.access(parent, os.W_OK | os.X_OK, effective_ids=True):
        raise _refusal(parent, "nothing can be created in this directory")


def _refusal(target: Path, why: str, remedy: str | None = None) -> TargetRefusedError:
    return TargetRefusedError(
        f"{target} cannot be the target of a restore: {why}",
        remedy=remedy or "Choose a new directory.",
    )
