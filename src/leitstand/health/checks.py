"""The checks of a control server: database, queue, loop, room for backups."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from leitstand.errors import LeitstandError
from leitstand.health.readiness import Check

LOOP_TICKS = 3
"""Ticks without a complete pass after which the loop counts as dead."""

ROOM = 1 << 30
"""Bytes that must be free where backups go."""


class NotReadyError(LeitstandError):
    """A check found something wrong; the message is fit for outsiders."""

    code = "NOT_READY"


def loop_alive(last_completed: Callable[[], float], tick: float) -> Check:
    """The last complete pass (monotonic seconds) is younger than three ticks."""

    async def check() -> None:
        age = time.monotonic() - last_completed()
        if age > LOOP_TICKS * tick:
            raise NotReadyError(f"the last complete pass was {age:.0f} s ago")

    return check


def room_for_backups(directory: Path, needed: int = ROOM) -> Check:
    """The file system of the backup directory has ``needed`` bytes free."""

    async def check() -> None:
        existing = next(path for path in (directory, *directory.parents) if path.is_dir())
        free = shutil.disk_usage(existing).free
        if free < needed:
            raise NotReadyError(
                f"only {free >> 20} MiB free where the backups go, {needed >> 20} MiB wanted"
            )

    return check
