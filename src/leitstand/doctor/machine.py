"""Checks of the machine: Python, directories, room on the disk."""

import os
import shutil
from pathlib import Path

from leitstand.doctor.finding import Finding, sound, wrong
from leitstand.store.account import user_name

OLDEST_PYTHON = (3, 11)
ROOM = 1 << 30
"""Bytes that should be free in a directory that grows."""


def python_version(version: tuple[int, int]) -> Finding:
    """``version`` (major and minor) is one that Leitstand runs on."""
    name = "python"
    if version >= OLDEST_PYTHON:
        return sound(name)
    shown = ".".join(map(str, version))
    return wrong(
        name, f"this is Python {shown}, and 3.11 is needed", "Install Python 3.11 or newer."
    )


def directory_writable(name: str, directory: Path, setting: str) -> Finding:
    """``directory`` exists, or can be made, and belongs to whoever runs Leitstand (or root does).

    ``setting`` is where it is configured.
    """
    existing = nearest_existing(directory)
    remedy = f"Set {setting} to a directory of your own, or run Leitstand as its owner."
    if not existing.is_dir():
        return wrong(name, f"{existing} is not a directory", remedy)
    owner = existing.stat().st_uid
    if existing == directory and os.geteuid() not in (0, owner):
        return wrong(name, f"{directory} belongs to {user_name(owner)}", remedy)
    if not os.access(existing, os.W_OK | os.X_OK):
        return wrong(name, f"{existing} cannot be written to", remedy)
    return sound(name)


def room(name: str, directory: Path, needed: int = ROOM) -> Finding:
    """At least ``needed`` bytes are free on the file system of ``directory``."""
    free = shutil.disk_usage(nearest_existing(directory)).free
    if free >= needed:
        return sound(name)
    return wrong(
        name,
        f"only {free >> 20} MiB are free in {directory}",
        "Make room, keep fewer generations (backup.postgres.keep_generations), or move it.",
    )


def nearest_existing(path: Path) -> Path:
    """``path``, or the nearest of the directories above it that exists."""
    absolute = path.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())
